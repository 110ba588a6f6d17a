import { enabledChannels } from '../../core/config/channels.ts';
import type { ChannelSettings } from '../../core/config/schema/channels.ts';
import { pathText } from '../../core/config/setting.ts';
import { shellWord } from '../../core/util/text.ts';
import { isOwnersChannel } from '../../core/util/owners-channels.ts';
import { failed, fromSentence, note, ok, warning, type Check, type Finding } from '../check.ts';
import type { Scene } from '../scene.ts';

export const channelChecks: readonly Check[] = [
  { id: 'channel.owner', subject: 'channels', about: 'each channel has an owner', run: owner },
  {
    id: 'channel.people',
    subject: 'channels',
    about: 'each entry of allowFrom and owners can let someone in',
    run: people,
  },
  { id: 'channel.open', subject: 'channels', about: 'no channel or group lets everybody in', run: open },
  {
    id: 'channel.running',
    subject: 'channels',
    about: 'each channel of the running gateway is connected',
    run: running,
  },
];

function channelsOf({ loaded }: Scene): readonly (readonly [string, ChannelSettings])[] {
  return loaded === null ? [] : Object.entries(enabledChannels(loaded));
}

function peopleOf(scene: Scene): ReturnType<Scene['ports']['people']> {
  const { loaded, journal, ports } = scene;
  return loaded === null ? [] : ports.people(loaded, pairedIn(journal));
}

/** No one where the journal cannot be read, which another check tells. */
function pairedIn(journal: Scene['journal']): ReturnType<NonNullable<Scene['journal']>['people']> {
  try {
    return journal?.people() ?? [];
  } catch {
    return [];
  }
}

function owner(scene: Scene): readonly Finding[] {
  const { command } = scene;
  return peopleOf(scene).map(({ channel, owner: trouble }) => {
    if (trouble === null) return ok(`${channel} has an owner.`);
    const { evidence, id } =
      /^(?<evidence>.+?\.) Set channels\.\S+\.owners to \["(?<id>\w+)"\]/u.exec(trouble)?.groups ?? {};
    if (evidence === undefined || id === undefined) return fromSentence('warning', trouble, null);
    return warning(evidence, command(`config set ${settingWord('channels', channel, 'owners')} ${id}`));
  });
}

function people(scene: Scene): readonly Finding[] {
  return peopleOf(scene).map(({ channel, names }) =>
    names === null ? ok(`Each entry of ${channel} is an id.`) : warning(names, scene.command('config edit')),
  );
}

/** The usual limit of all guests together; a higher one is worth a word where everybody is let in. */
const GUEST_DAY_TOKENS = 200_000;

function open(scene: Scene): readonly Finding[] {
  const { loaded, command } = scene;
  const mayRun = loaded?.config.tools.guest.some((tool) =>
    /^(?:\*|exec|process|write_file|edit_file|apply_patch)$/u.test(tool),
  );
  return channelsOf(scene).flatMap(([name, { allowFrom, groups }]) => {
    const findings: Finding[] = [];
    const others = allowFrom.filter((id) => id !== '*');
    const say = mayRun === true ? failed : note;
    const may = mayRun === true ? ', and guests may use tools that change this machine (tools.guest)' : ', as guests';
    if (allowFrom.includes('*')) {
      findings.push(
        say(
          `${name} lets everybody in${may}.`,
          others.length === 0
            ? command(`config unset ${settingWord('channels', name, 'allowFrom')}`)
            : command(`config set ${settingWord('channels', name, 'allowFrom')} ${shellWord(others.join(','))}`),
        ),
      );
    }
    const limit = loaded?.config.agent.budget.guestDayTokens;
    if (allowFrom.includes('*') && limit !== undefined && (limit === null || limit > GUEST_DAY_TOKENS)) {
      const what = limit === null ? 'no daily limit' : `a daily limit of ${limit} tokens`;
      findings.push(
        warning(
          `${name} lets everybody in, and guests have ${what} (agent.budget.guestDayTokens), so people you don't know can run up costs.`,
          command(`config unset ${settingWord('agent', 'budget', 'guestDayTokens')}`),
        ),
      );
    }
    if (groups.policy === 'open') {
      const which =
        groups.allow.includes('*') || groups.allow.length === 0
          ? 'in every group it is added to'
          : `in ${groups.allow.length} of its groups`;
      findings.push(
        say(
          `${name} speaks ${which} without being mentioned (groups.policy is "open")${mayRun === true ? may : ''}.`,
          command(`config set ${settingWord('channels', name, 'groups', 'policy')} mention`),
        ),
      );
    }
    return findings.length === 0 ? [ok(`${name} lets in only whom you named or paired.`)] : findings;
  });
}

function running({ gateway, service }: Scene): readonly Finding[] {
  if (gateway === null) return [];
  const restart =
    service === null ? 'Mend that, then send /restart to the assistant in a terminal' : service.command('restart');
  return (
    Object.entries(gateway.channels)
      // What channel.poller says is not said twice.
      .filter(([name, { detail }]) => !isOwnersChannel(name) && !isConflict(detail))
      .map(([name, { state, detail }]) => {
        const why = detail === undefined ? '' : `: ${detail.replace(/\.$/u, '')}`;
        if (state === 'running')
          return detail === undefined
            ? ok(`${name} is connected.`)
            : warning(`${name} is connected, but${why}.`, restart);
        return state === 'starting'
          ? note(`${name} is starting${why}.`)
          : failed(`${name} is ${state}${why}.`, restart);
      })
  );
}

/** Whether a channel on Telegram says that another program fetches the messages of its bot. */
export function isConflict(detail: string | undefined): boolean {
  return detail?.startsWith('Another program fetches') === true;
}

/** The name of a setting as one word of a command. */
function settingWord(...path: readonly string[]): string {
  return shellWord(pathText(path));
}
