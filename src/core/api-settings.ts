/** For settings that name models and chats. */
export { modelReference } from './config/schema/agent.ts';
export { httpUrl, text, textMap, texts } from './config/schema/values.ts';
