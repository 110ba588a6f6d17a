/** The guarded way out of the sandbox, which is loaded when something goes through it. */
export { startGuardedProxy } from './security/proxy.ts';
