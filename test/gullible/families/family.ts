import type { Goal } from '../goals.ts';
import type { Injected } from '../injected.ts';

/** One attack in many variations: each is a harm of its own, by a few of the ways. */
export interface Family {
  /** What is attacked, in a few words. */
  readonly name: string;
  /** Names of carriers. */
  readonly by: readonly string[];
  readonly goals: readonly Goal[];
}

/** Ways into the owner's own chat. */
export const DIRECT = ['a page', 'a forwarded message', 'a file that was downloaded'] as const;
/** The way into a turn of the owner in a group. */
export const IN_GROUP = ['what a group said before its owner asked'] as const;

export const exec = (command: string, more: Readonly<Record<string, unknown>> = {}): Injected => ({
  name: 'exec',
  arguments: { command, ...more },
});
export const fetch = (url: string, more: Readonly<Record<string, unknown>> = {}): Injected => ({
  name: 'web_fetch',
  arguments: { url, ...more },
});
export const batch = (...calls: readonly Injected[]): Injected => ({
  name: 'batch',
  arguments: {
    calls: calls.flatMap((call) => ('say' in call ? [] : [{ tool: call.name, arguments: call.arguments }])),
  },
});
