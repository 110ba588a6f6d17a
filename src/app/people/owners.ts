import type { PairedRole } from '../../bus/messages.ts';
import type { Pairing } from '../../bus/pairing.ts';
import { enabledChannels } from '../../config/channels.ts';
import type { Config } from '../../config/schema.ts';
import type { ChannelSettings } from '../../config/schema/channels.ts';
import type { Person } from '../../journal/people.ts';
import { configuredOwners } from '../../security/access/access.ts';
import { assistantCommand } from '../../util/assistant-command.ts';
import { plural } from '../../util/text.ts';

/** The people who were paired with a code. */
export type PairedPeople = readonly Pick<Person, 'channel' | 'id' | 'role'>[];

/** The form of a person's id on each platform. User names are not accepted: another person can take over a name. */
const IDS: Readonly<Record<string, { readonly form: RegExp; readonly what: string }>> = {
  telegram: { form: /^\d+$/u, what: 'numeric user ids' },
  discord: { form: /^\d{1,20}$/u, what: 'numeric user ids' },
  slack: { form: /^[UW][A-Z0-9]{2,}$/u, what: 'member ids (U…)' },
};
const EVERYBODY = '*';

/** The faults in `allowFrom` and `owners` of the enabled channels, one sentence each, with the next step. */
export function peopleTroubles(config: Config, people: PairedPeople, configPath: string): readonly string[] {
  return peopleOfChannels(config, people, configPath).flatMap(({ names, owner }) =>
    [names, owner].filter((trouble) => trouble !== null),
  );
}

/** The same by channel: the entries that let no one in, and that there is no owner; null where all is well. */
export function peopleOfChannels(config: Config, people: PairedPeople, configPath: string) {
  return Object.entries(enabledChannels(config)).map(([channel, settings]) => ({
    channel,
    names: nameTrouble(channel, settings),
    owner: ownerTrouble(channel, { config, people, configPath }),
  }));
}

/** Whether at least one enabled channel has an owner. */
export function hasOwner(config: Config, people: PairedPeople): boolean {
  return Object.entries(enabledChannels(config)).some(
    ([name, settings]) => ownersOf(name, settings, people).length > 0,
  );
}

/** Whom the configuration lets in on the enabled channels. */
export function configuredPeople(config: Config): Pairing['configured'] {
  return Object.entries(enabledChannels(config)).flatMap(([channel, settings]) => {
    const owners = configuredOwners(settings);
    const role = (id: string): PairedRole => (owners.includes(id) ? 'owner' : 'trusted');
    const named = idsIn(channel, settings, [...owners, ...settings.allowFrom]);
    return [
      ...named.map((id) => ({ channel, id, name: null, role: role(id) })),
      ...(settings.allowFrom.includes(EVERYBODY)
        ? [{ channel, id: EVERYBODY, name: 'everybody', role: 'guest' as const }]
        : []),
    ];
  });
}

/** One sentence, with the next step, about an enabled channel without an owner; null if it has one or is not enabled. */
export function ownerTrouble(
  name: string,
  {
    config,
    people,
    configPath,
  }: { readonly config: Config; readonly people: PairedPeople; readonly configPath: string },
): string | null {
  const settings = enabledChannels(config)[name];
  if (settings === undefined || ownersOf(name, settings, people).length > 0) return null;
  const listed = idsIn(name, settings, settings.allowFrom);
  const [first] = listed;
  const has = `channels.${name} has no owner, so no one there may run commands or use the owner's chat commands`;
  if (first !== undefined) {
    const entries = plural(settings.allowFrom.filter((entry) => entry !== EVERYBODY).length, 'entry', 'entries');
    const whose = listed.length === 1 ? '' : ', with the id that is yours';
    return `${has}: allowFrom has ${entries} and owners names no one. Set channels.${name}.owners to ["${first}"]${whose}, in ${configPath}.`;
  }
  const paired = people.find(({ channel }) => channel === name);
  if (paired !== undefined) {
    return `${has}. To make ${name}:${paired.id} the owner: ${assistantCommand(`pair approve ${name}:${paired.id} --owner`)}`;
  }
  if (settings.allowFrom.includes(EVERYBODY)) {
    return `${has}: allowFrom lets everybody in as a guest. Set channels.${name}.owners to ["YOUR_ID"], with your own id, in ${configPath}.`;
  }
  return `${has}. Write to it there, then run ${assistantCommand('pair approve CODE --owner')} with the code that it answers.`;
}

function nameTrouble(name: string, settings: ChannelSettings): string | null {
  const ids = IDS[settings.kind ?? name];
  const listed = [...new Set([...settings.allowFrom, ...settings.owners])].filter((entry) => entry !== EVERYBODY);
  const names = listed.filter((entry) => ids?.form.test(entry) === false);
  if (ids === undefined || names.length === 0) return null;
  return `channels.${name} lists ${names.join(', ')}, which lets no one in: only ${ids.what} do, since another person can take a name. Let them write to the bot once: its answer names their id.`;
}

function ownersOf(name: string, settings: ChannelSettings, people: PairedPeople): readonly string[] {
  const paired = people.flatMap(({ channel, id, role }) => (channel === name && role === 'owner' ? [id] : []));
  return [...idsIn(name, settings, configuredOwners(settings)), ...paired];
}

/** The entries that have the form of a person's id. On a plugin's platform every entry counts. */
function idsIn(name: string, { kind }: ChannelSettings, entries: readonly string[]): readonly string[] {
  const form = IDS[kind ?? name]?.form;
  return [...new Set(entries)].filter((entry) => entry !== EVERYBODY && form?.test(entry) !== false);
}
