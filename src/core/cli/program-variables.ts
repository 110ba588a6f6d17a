import type { CliContext } from './context.ts';

const NAMES = [
  'PATH',
  'HOME',
  'LANG',
  'XDG_RUNTIME_DIR',
  // The way to the network, and the authority of a company that looks into what goes over it.
  'http_proxy',
  'HTTP_PROXY',
  'https_proxy',
  'HTTPS_PROXY',
  'no_proxy',
  'NO_PROXY',
  'NODE_EXTRA_CA_CERTS',
];

/** The variables of this command line that npm and other programs of the system are started with. */
export function programVariables({ env, host }: CliContext): Readonly<Record<string, string>> {
  const npm = Object.keys(env).filter((name) => /^npm_config_/iu.test(name));
  const known = [...NAMES, ...npm].flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
  return { HOME: host().userHome, ...Object.fromEntries(known) };
}
