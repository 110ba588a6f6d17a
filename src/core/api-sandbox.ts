/** For tools that start programs: the sandbox and the guarded way out of it. */
export type { GuardedProxyOptions, SendingRequest } from './security/proxy.ts';
export { findProgram, runEnclosed } from './security/enclosure/enclosure.ts';
export type { EnclosedProcess, Program } from './security/enclosure/enclosure.ts';
export { packageRemedy, probeSandbox } from './security/enclosure/probe.ts';
export { createSandbox, type Sandbox } from './security/enclosure/sandbox.ts';
export { ByteLines } from './util/byte-lines.ts';
