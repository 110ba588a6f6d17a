/** For tools that start programs: the sandbox and the guarded way out of it. */
export type { GuardedProxyOptions, RunningProxy, SendingRequest } from './security/proxy/contract.ts';
export { launch } from './security/sandbox/launch.ts';
export type { SandboxedCommand } from './security/sandbox/launch.ts';
export { probeSandbox } from './security/sandbox/probe.ts';
export { createSandbox } from './security/sandbox/sandbox.ts';
export type { Sandbox } from './security/sandbox/sandbox.ts';
