/**
 * Node's own HTTP. Not by an `import`: that of an ES module evaluates the lazy properties too, and so loads all of
 * undici, 40 ms of each start.
 */
export const http = process.getBuiltinModule('node:http');
export const https = process.getBuiltinModule('node:https');
