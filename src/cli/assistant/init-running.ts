import type { Host } from '../../service/host.ts';
import { installService } from '../../service/install.ts';
import { openService, type Opened } from '../../service/open-service.ts';
import type { Choice, SetupWorld } from '../../setup/setup.ts';
import { assistantCommand } from '../../core/util/assistant-command.ts';
import { AppError } from '../../core/util/errors.ts';
import { keysForService } from '../service-keys.ts';

/** Where the assistant runs after the set-up; `here`: in this terminal, which the caller has to begin. */
export type Running = 'running' | 'service' | 'here' | 'later';

/**
 * Asks where the assistant shall run, and installs the service if that is chosen. Without a person `service` decides;
 * throws if the service was asked for by flag and cannot be installed.
 */
export async function chooseRunning(
  {
    world,
    host,
    hasChannel,
    isRunning,
  }: {
    readonly world: SetupWorld;
    readonly host: () => Host;
    readonly hasChannel: boolean;
    readonly isRunning: boolean;
  },
  wish: { readonly service: boolean; readonly copyKeys: boolean; readonly isConversation: boolean },
): Promise<Running> {
  if (isRunning) return 'running';
  const { person, tell } = world;
  const { service, copyKeys, isConversation } = wish;
  if (person === null || service) {
    if (service) await install(await requireService(world, host), { world, host, copyKeys });
    return service ? 'service' : 'later';
  }
  let possible = await findService(world, host);
  if (typeof possible === 'string') tell.say(possible);
  for (;;) {
    const choices: Choice[] = [
      { value: 'here', label: 'in this terminal, now', hint: hasChannel ? 'until you close it' : 'a conversation' },
      { value: 'later', label: 'not now' },
    ];
    if (typeof possible !== 'string')
      choices.unshift({
        value: 'service',
        label: 'as a service',
        hint: 'from now on, also when this machine restarts',
      });
    const offered = choices.filter(({ value }) => value !== 'later' || !isConversation);
    const first = hasChannel ? (offered[0]?.value ?? 'here') : 'here';
    const chosen = offered.length === 1 ? 'here' : await person.choose('How should it run?', offered, first);
    if (chosen !== 'service' || typeof possible === 'string') return chosen === 'later' ? 'later' : 'here';
    try {
      await install(possible, { world, host, copyKeys });
      return 'service';
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      tell.bad(error.message);
      possible = error.message;
    }
  }
}

/** The service of this person; a string is why there can be none, with what to do instead. */
async function findService(world: SetupWorld, host: () => Host): Promise<Opened | string> {
  try {
    return await requireService(world, host);
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
}

async function requireService({ paths, env }: SetupWorld, host: () => Host): Promise<Opened> {
  const machine = host();
  // A service of the machine has a user and a home of its own.
  if (machine.platform === 'linux' && machine.uid === 0) {
    throw new AppError(
      'root-service',
      `You are root, so init installs no service for this home. A service for the whole machine, with a user and a home of its own: ${assistantCommand('service install')}`,
    );
  }
  const wish = { system: false, home: paths.home, usualHome: paths.home, for: 'install' } as const;
  const opened = openService(wish, { host: machine, env });
  await opened.supervisor.prepare();
  return opened;
}

async function install(
  { supervisor, env }: Opened,
  { world, host, copyKeys }: { readonly world: SetupWorld; readonly host: () => Host; readonly copyKeys: boolean },
): Promise<void> {
  const { person } = world;
  const keys = await keysForService(
    supervisor.places,
    world,
    async (question) => copyKeys || (person !== null && person.agree(question)),
  );
  const notes = await installService(supervisor, { host: host(), env, added: keys.copied });
  const logs = `Its log: ${assistantCommand('service logs')}`;
  world.tell.good(['The service is installed and running.', ...notes, ...keys.notes, logs].join('\n'));
}
