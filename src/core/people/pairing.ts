import { sentenceOf } from '../util/finding.ts';
import type { App } from '../app.ts';
import type { PairedPerson, Pairing } from '../bus/pairing.ts';
import type { PairedRole } from '../bus/messages.ts';
import type { Person } from '../journal/people.ts';
import { AppError } from '../util/errors.ts';
import type { Base } from '../assistant/base.ts';
import { atLeast } from '../security/access/access.ts';
import { configuredPeople, hasOwner, ownerFinding } from './owners.ts';

type Configured = ReturnType<typeof configuredPeople>[number];

/** Reads and changes who is paired, for /pair and the command line. Errors are `AppError`s with a sentence for a person. */
export function createPairing(app: App) {
  const { config, loaded } = app;
  const { people, pairing } = app.journal;
  const named = (text: string): { readonly channel: string; readonly id: string } => {
    const [channel = '', ...rest] = text.split(':');
    return { channel, id: rest.join(':') };
  };
  const may = (role: PairedRole): string => {
    switch (role) {
      case 'owner':
        return 'An owner may do everything, and is the one who is asked before something risky.';
      case 'trusted':
        return `A trusted person may use everything but ${ownersOnly(app).join(', ')}.`;
      case 'guest':
        return `A guest may use ${config.tools.guest.join(', ') || 'no tool'} (tools.guest), and sees nothing of your memory and files.`;
    }
  };
  /** A sentence that a channel has no owner, with the next step; null when it has one. */
  const ownerless = (channel: string): string | null => {
    const looked = { config, program: app.program, people: people.list(), configPath: loaded.path };
    const finding = ownerFinding(channel, looked);
    return finding === null ? null : sentenceOf(finding);
  };
  const byConfiguration = ({ channel, id }: Pick<Person, 'channel' | 'id'>): Configured | undefined =>
    configuredPeople(app).find((one) => one.channel === channel && (one.id === id || one.id === '*'));
  const approved = (person: Person): Person & { readonly may: string } => {
    const configured = byConfiguration(person);
    if (configured === undefined || atLeast(person.role, configured.role)) return { ...person, may: may(person.role) };
    return {
      ...person,
      may: `But channels.${person.channel} in the configuration gives them the role ${configured.role}, which counts. ${may(configured.role)}`,
    };
  };
  return {
    list: (): Pairing => ({
      people: people.list(),
      configured: configuredPeople(app),
      pending: pairing.pending(),
      lockedUntil: pairing.lockedUntil(),
      hasOwner: hasOwner(app, people.list()),
    }),
    /**
     * Pairs the person who received a code, or changes the role of a paired person named as `CHANNEL:ID`. `by`: the
     * person who approves. `may`: a sentence about what the role allows.
     */
    approve: async (
      text: string,
      { by, role }: { readonly by: string; readonly role: PairedRole },
    ): Promise<PairedPerson & { readonly may: string }> => {
      if (text.includes(':')) {
        const { channel, id } = named(text);
        const person = await people.setRole(channel, id, role);
        if (person === undefined) throw new AppError('pairing-person', whyNot({ text, channel, id }, config, role));
        return approved(person);
      }
      return approved(await pairing.approve(text, { by, role }));
    },
    /**
     * Removes a person named as `CHANNEL:ID`. `still`: a sentence, if the configuration lets them in. `ownerless`: one, if the
     * channel has no owner now.
     */
    remove: async (
      text: string,
    ): Promise<PairedPerson & { readonly still: string | null; readonly ownerless: string | null }> => {
      const { channel, id } = named(text);
      const person = await people.remove(channel, id);
      if (person === undefined) throw new AppError('pairing-person', whyNot({ text, channel, id }, config, null));
      const configured = byConfiguration(person);
      const still =
        configured === undefined
          ? null
          : `But the configuration still lets them in (${configured.role}): take ${configured.id} out of channels.${channel}.`;
      return { ...person, still, ownerless: ownerless(channel) };
    },
    ownerless,
  };
}

/** What only owners may use: tools, and chat commands with their slash. */
function ownersOnly({ tools, commands }: App): readonly string[] {
  return [
    ...tools.list().flatMap(({ tool }) => (tool.role === 'owner' ? [tool.name] : [])),
    ...commands.ownersOnly().map((name) => `/${name}`),
  ];
}

/** `role`: what they were to become; null: they were to be removed. */
function whyNot(
  { text, channel, id }: Record<'text' | 'channel' | 'id', string>,
  { channels }: Base['config'],
  role: PairedRole | null,
): string {
  if (id === '') return `Expected CHANNEL:ID, such as telegram:123456789, but ${JSON.stringify(text)} was given.`;
  const { allowFrom = [], owners = [] } = channels[channel] ?? {};
  if (![...allowFrom, ...owners].includes(id)) {
    const next = role === null ? '' : ' Let them write to the bot, and approve the code that it answers.';
    return `${channel}:${id} was not paired with a code, so nothing was changed.${next}`;
  }
  const how =
    role === null ? `take ${id} out of channels.${channel}` : `change channels.${channel}.owners, a list of ids,`;
  return `${channel}:${id} has access through the configuration, so nothing was changed: ${how}.`;
}
