import type { ChannelSettings } from '../config/schema/channels.ts';
import type { Setting } from './save.ts';
import { AppError } from '../util/errors.ts';
import type { SetupWorld } from './world.ts';

/** A token that the platform took, and what is written so that it is found again (null: it is there already). */
export interface Token<Facts> {
  readonly facts: Facts;
  readonly value: string;
  readonly setting: Setting | null;
}

/** What the platform said of a token; a string is what is wrong with it, `offline` why no one could be asked. */
export type Checked<Facts> = { readonly facts: Facts } | string | { readonly offline: string };

export interface TokenQuestion<Facts> {
  readonly channel: string;
  /** Its key in the channel's settings. */
  readonly key: string;
  /** The usual environment variable, which is also the name of the file that holds a typed one. */
  readonly variable: string;
  /** The option that names another variable, and what the command line gave for it. */
  readonly flag: string;
  readonly given: string | undefined;
  readonly question: string;
  readonly before: ChannelSettings | undefined;
  /** Asks the platform. */
  readonly check: (token: string) => Promise<Checked<Facts>>;
}

/**
 * The token that is configured or in the environment, else one that is asked for until the platform takes it. Null: the
 * platform is not reached, and the person leaves it out.
 */
export async function chooseToken<Facts>(world: SetupWorld, asked: TokenQuestion<Facts>): Promise<Token<Facts> | null> {
  const { person, tell, env } = world;
  const { channel, key, variable, flag, given, question, before, check } = asked;
  const path = ['channels', channel, key];
  const configured = before?.[key];
  const named = given ?? (env[variable] === undefined ? undefined : variable);
  if (given !== undefined && !/^[A-Z_][A-Z0-9_]*$/u.test(given)) {
    throw channelError(
      channel,
      `${flag} takes the name of an environment variable such as ${variable}, not the token.`,
    );
  }
  if (given !== undefined && env[given] === undefined)
    throw channelError(channel, `${given} is not set in the environment.`);
  let value = given === undefined && typeof configured === 'string' ? configured : (env[named ?? ''] ?? '');
  let setting: Setting | null = value === '' || value === configured ? null : { path, value: `\${${named}}` };
  for (;;) {
    if (value === '') {
      if (person === null) {
        const missing = `A token is missing: give ${flag} NAME, the variable that holds it, or put it into ${variable}.`;
        throw channelError(channel, missing, { exitCode: MISSING });
      }
      value = await person.secret(question);
      setting = { path, name: variable, secret: value };
    }
    const checked = await check(value);
    if (typeof checked !== 'string' && 'facts' in checked) return { facts: checked.facts, value, setting };
    const isOffline = typeof checked !== 'string';
    const why = isOffline ? `${checked.offline} Check the network.` : checked;
    if (person === null) throw channelError(channel, why);
    tell.bad(why);
    if (!isOffline) value = '';
    else if ((await person.choose('What now?', OFFLINE, 'again')) !== 'again') return null;
  }
}

const OFFLINE = [
  { value: 'again', label: 'Try again' },
  { value: 'leave', label: 'Leave it out; nothing of it is written' },
] as const;

/** The exit code of a command line that lacks something. */
const MISSING = 2;

/** Something that only a person, or another flag, can put right. */
export function channelError(channel: string, message: string, options: { readonly exitCode?: number } = {}): AppError {
  return new AppError('setup', `${message} The model is set up; of ${channel} nothing was written.`, options);
}

/** The settings that make this person the owner, beside those who are there. */
export function ownerSettings(channel: string, before: ChannelSettings | undefined, id: string): readonly Setting[] {
  const added = (key: 'owners' | 'allowFrom'): readonly Setting[] => {
    const ids = before?.[key] ?? [];
    return ids.includes(id) ? [] : [{ path: ['channels', channel, key], value: [...ids, id] }];
  };
  // Who was the only one in `allowFrom` was the owner by that, and stays it.
  const [only, ...others] = before?.allowFrom ?? [];
  const isImplied = (before?.owners ?? []).length === 0 && only !== undefined && others.length === 0 && only !== '*';
  if (isImplied && only !== id) {
    return [{ path: ['channels', channel, 'owners'], value: [only, id] }, ...added('allowFrom')];
  }
  return [...added('owners'), ...added('allowFrom')];
}
