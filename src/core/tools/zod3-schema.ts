/** A file of its own, because it loads zod 3: `json-schema.ts` requires it when a plugin first needs it. */
export { zodToJsonSchema } from 'zod-to-json-schema';
