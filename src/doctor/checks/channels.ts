import { enabledChannels } from '../../core/config/channels.ts';
import type { ChannelSettings } from '../../core/config/schema/channels.ts';
import { pathText } from '../../core/config/setting.ts';
import { shellWord } from '../../core/util/text.ts';
import { isOwnersChannel } from '../../core/util/owners-channels.ts';
import { failed, note, ok, sentenceOf, warning, type Found } from '../../core/util/finding.ts';
import { channelsOf as channelsOfKind, tokenFinding } from '../../core/doctor/channel-token.ts';
import { checksOn, knownOf, LIVE } from '../../core/doctor/check.ts';
import type { Scene } from '../../core/doctor/scene.ts';

export const channelChecks = checksOn('channels', [
  ['channel.owner', 'each channel has an owner', owner],
  ['channel.people', 'each entry of allowFrom and owners can let someone in', people],
  ['channel.open', 'no channel or group lets everybody in', open],
  ['channel.running', 'each channel of the running gateway is connected', running],
  ['channel.token', 'each platform takes the token of its bot', tokens, LIVE],
]);

function channelsOf({ loaded }: Scene): readonly (readonly [string, ChannelSettings])[] {
  return loaded === null ? [] : Object.entries(enabledChannels(loaded));
}

/** What is known of each channel under this id, or else that it is fine. */
function ofEach(scene: Scene, id: string, fine: (channel: string) => string): readonly Found[] {
  const known = knownOf(scene.known, id);
  return channelsOf(scene).flatMap<Found>(([name]) => {
    const found = known.filter(({ facts }) => facts?.['channel'] === name);
    return found.length === 0 ? [ok(fine(name))] : found;
  });
}

function owner(scene: Scene): readonly Found[] {
  return ofEach(scene, 'channel.owner', (channel) => `${channel} has an owner.`).map((found) => {
    const { channel, owner: id } = found.facts ?? {};
    if (channel === undefined || id === undefined) return found;
    return { ...found, remedy: scene.command(`config set ${settingWord('channels', channel, 'owners')} ${id}`) };
  });
}

function people(scene: Scene): readonly Found[] {
  return ofEach(scene, 'channel.people', (channel) => `Each entry of ${channel} is an id.`).map((found) =>
    found.state === 'ok' ? found : warning(sentenceOf(found), scene.command('config edit')),
  );
}

/** The usual limit of all guests together; a higher one is worth a word where everybody is let in. */
const GUEST_DAY_TOKENS = 200_000;

function open(scene: Scene): readonly Found[] {
  const { loaded, command } = scene;
  const mayRun = loaded?.config.tools.guest.some((tool) =>
    /^(?:\*|exec|process|write_file|edit_file|apply_patch)$/u.test(tool),
  );
  return channelsOf(scene).flatMap(([name, { allowFrom, groups }]) => {
    const findings: Found[] = [];
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

function running({ gateway, service }: Scene): readonly Found[] {
  if (gateway === null) return [];
  const restart =
    service === null ? 'Mend that, then send /restart to the assistant in a terminal' : service.command('restart');
  return (
    Object.entries(gateway.channels)
      // What channel.poller says is not said twice.
      .filter(([name, { code }]) => !isOwnersChannel(name) && code !== 'conflict')
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

async function tokens(scene: Scene): Promise<readonly Found[]> {
  const { program, clock } = scene;
  const kinds = program.extensions.flatMap(({ channels = [] }) => channels);
  const tried = kinds.flatMap(({ kind, setup }) =>
    channelsOfKind(scene, kind).map(async ([name, settings]) => {
      const { tokens: steps = {} } = (await setup?.platform()) ?? {};
      return await Promise.all(
        Object.entries(steps).map(async ([key, { check }]) =>
          tokenFinding(scene, `channels.${name}.${key}`, await check({ settings, clock })),
        ),
      );
    }),
  );
  return (await Promise.all(tried)).flat();
}

/** The name of a setting as one word of a command. */
function settingWord(...path: readonly string[]): string {
  return shellWord(pathText(path));
}
