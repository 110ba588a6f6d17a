import { kindOf } from '../program.ts';
import type { PairedRole } from '../bus/messages.ts';
import type { Pairing } from '../bus/pairing.ts';
import { enabledChannels } from '../config/channels.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { ChannelSettings } from '../config/schema/channels.ts';
import type { Person } from '../journal/people.ts';
import { configuredOwners } from '../security/access/access.ts';
import { assistantCommand } from '../util/assistant-command.ts';
import { type Finding, warning } from '../util/finding.ts';
import { plural } from '../util/text.ts';

/** The people who were paired with a code. */
export type PairedPeople = readonly Pick<Person, 'channel' | 'id' | 'role'>[];

/** What is looked at: the configuration, and what the platforms of its channels call an id. User names are not accepted: another person can take over a name. */
type Looked = Pick<LoadedConfig, 'config' | 'program'>;

const EVERYBODY = '*';

/** Enabled channels whose `allowFrom` or `owners` has entries that let no one in, or that have no owner. */
export function peopleFindings(looked: Looked, people: PairedPeople, configPath: string): readonly Finding[] {
  return Object.entries(enabledChannels(looked)).flatMap(([channel, settings]) =>
    [nameFinding(looked, channel, settings), ownerFinding(channel, { ...looked, people, configPath })].filter(
      (finding) => finding !== null,
    ),
  );
}

/** Whether at least one enabled channel has an owner. */
export function hasOwner(looked: Looked, people: PairedPeople): boolean {
  return Object.entries(enabledChannels(looked)).some(
    ([name, settings]) => ownersOf(looked, name, settings, people).length > 0,
  );
}

/** Whom the configuration lets in on the enabled channels. */
export function configuredPeople(looked: Looked): Pairing['configured'] {
  return Object.entries(enabledChannels(looked)).flatMap(([channel, settings]) => {
    const owners = configuredOwners(settings);
    const role = (id: string): PairedRole => (owners.includes(id) ? 'owner' : 'trusted');
    const named = idsIn(looked, channel, settings, [...owners, ...settings.allowFrom]);
    return [
      ...named.map((id) => ({ channel, id, name: null, role: role(id) })),
      ...(settings.allowFrom.includes(EVERYBODY)
        ? [{ channel, id: EVERYBODY, name: 'everybody', role: 'guest' as const }]
        : []),
    ];
  });
}

/** About an enabled channel without an owner, with the next step; null if it has one or is not enabled. */
export function ownerFinding(
  name: string,
  { config, program, people, configPath }: Looked & { readonly people: PairedPeople; readonly configPath: string },
): Finding | null {
  const settings = enabledChannels({ config, program })[name];
  if (settings === undefined || ownersOf({ config, program }, name, settings, people).length > 0) return null;
  const listed = idsIn({ config, program }, name, settings, settings.allowFrom);
  const [first] = listed;
  const has = `channels.${name} has no owner, so no one there may run commands or use the owner's chat commands`;
  const finding = (why: string, remedy: string): Finding => ({
    id: 'channel.owner',
    ...warning(`${has}${why}.`, remedy),
    facts: { channel: name },
  });
  if (first !== undefined) {
    const entries = plural(settings.allowFrom.filter((entry) => entry !== EVERYBODY).length, 'entry', 'entries');
    const whose = listed.length === 1 ? '' : ', with the id that is yours';
    const remedy = `Set channels.${name}.owners to ["${first}"]${whose}, in ${configPath}`;
    return {
      ...finding(`: allowFrom has ${entries} and owners names no one`, remedy),
      facts: { channel: name, owner: first },
    };
  }
  const paired = people.find(({ channel }) => channel === name);
  if (paired !== undefined) {
    const remedy = assistantCommand(`pair approve ${name}:${paired.id} --owner`);
    return { ...finding('', remedy), lead: `To make ${name}:${paired.id} the owner` };
  }
  if (settings.allowFrom.includes(EVERYBODY)) {
    const remedy = `Set channels.${name}.owners to ["YOUR_ID"], with your own id, in ${configPath}`;
    return finding(': allowFrom lets everybody in as a guest', remedy);
  }
  const approve = assistantCommand('pair approve CODE --owner');
  return finding('', `Write to it there, then run ${approve} with the code that it answers`);
}

function nameFinding({ program }: Looked, name: string, settings: ChannelSettings): Finding | null {
  const ids = kindOf(program, settings.kind ?? name)?.ids;
  const listed = [...new Set([...settings.allowFrom, ...settings.owners])].filter((entry) => entry !== EVERYBODY);
  const names = listed.filter((entry) => ids?.form.test(entry) === false);
  if (ids === undefined || names.length === 0) return null;
  return {
    id: 'channel.people',
    ...warning(
      `channels.${name} lists ${names.join(', ')}, which lets no one in: only ${ids.what} do, since another person can take a name.`,
      'Let them write to the bot once: its answer names their id',
    ),
    facts: { channel: name },
  };
}

function ownersOf(looked: Looked, name: string, settings: ChannelSettings, people: PairedPeople): readonly string[] {
  const paired = people.flatMap(({ channel, id, role }) => (channel === name && role === 'owner' ? [id] : []));
  return [...idsIn(looked, name, settings, configuredOwners(settings)), ...paired];
}

/** The entries that have the form of a person's id. On a plugin's platform every entry counts. */
function idsIn(
  { program }: Looked,
  name: string,
  { kind }: ChannelSettings,
  entries: readonly string[],
): readonly string[] {
  const form = kindOf(program, kind ?? name)?.ids?.form;
  return [...new Set(entries)].filter((entry) => entry !== EVERYBODY && form?.test(entry) !== false);
}
