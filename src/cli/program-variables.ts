import type { CliContext } from './context.ts';

/** The variables of this command line that npm and other programs of the system are started with. */
export function programVariables({ env, host }: CliContext): Readonly<Record<string, string>> {
  const names = ['PATH', 'HOME', 'LANG', 'http_proxy', 'https_proxy', 'HTTPS_PROXY', 'no_proxy', 'XDG_RUNTIME_DIR'];
  const npm = Object.keys(env).filter((name) => /^npm_config_/iu.test(name));
  const known = [...names, ...npm].flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
  return { HOME: host().userHome, ...Object.fromEntries(known) };
}
