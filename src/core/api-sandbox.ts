/** For tools that start programs: the sandbox and the guarded way out of it. */
export type { GuardedProxyOptions, RunningProxy, SendingRequest } from './security/proxy/contract.ts';
export { runEnclosed } from './security/enclosure/enclosure.ts';
export type { EnclosedProcess } from './security/enclosure/enclosure.ts';
export { probeSandbox } from './security/enclosure/probe.ts';
export { createSandbox } from './security/enclosure/sandbox.ts';
export type { Sandbox } from './security/enclosure/sandbox.ts';
export { ByteLines } from './util/byte-lines.ts';
