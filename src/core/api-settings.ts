/** For settings that name models and chats. */
export { modelReference } from './config/schema/agent.ts';
export { text } from './config/schema/values.ts';
