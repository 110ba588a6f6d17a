import { command, type Group } from '../../core/cli/command.ts';
import { copyKeys } from './service.ts';
import { flag, text, wholeNumber, type Option } from '../../core/cli/values.ts';

// The commands about the assistant itself: run it, talk to it, see how it is.

const json = flag('as JSON');
const plain = flag('in the terminal, print lines only: no colours, nothing drawn twice (for screen readers)');

export const gateway = command({
  name: 'gateway',
  description: 'run the assistant: chat platforms, schedule, HTTP',
  worksOn: 'any folder',
  options: {
    port: wholeNumber('<number>', 'port for HTTP (0: any)', { min: 0, max: 65_535 }),
    talk: flag('talk in this terminal too, though there is a chat platform'),
    plain,
  },
  examples: ['gateway', 'gateway --port 8080 --home /srv/assistant'],
  load: async () => (await import('../assistant/gateway.ts')).gatewayCommand,
});

export const acp = command({
  name: 'acp',
  description: 'talk with a code editor over stdin and stdout, by the Agent Client Protocol',
  after:
    'The editor starts it. It attaches to a running gateway, or runs the assistant itself until stdin ends; what goes wrong is written to stderr.',
  examples: ['acp', 'acp --home /srv/assistant'],
  load: async () => (await import('../assistant/acp.ts')).acpCommand,
});

/** `more`: the options of kinds of channels. */
export const init = (more: Readonly<Record<string, Option<string | undefined>>>) =>
  command({
    name: 'init',
    description: 'set the assistant up: model, key, chat platform, how it runs; may be run again at any time',
    options: {
      yes: flag('ask nothing: use these options, the saved settings and the defaults'),
      provider: text('<name>', 'who provides the model, e.g. anthropic, openai, ollama, demo'),
      model: text('<name>', 'the model, as the provider calls it'),
      keyEnv: text('<variable>', 'the environment variable that holds the API key'),
      baseUrl: text('<address>', 'the address of a server that speaks OpenAI’s API'),
      timezone: text('<zone>', 'your time zone, e.g. Europe/Vienna'),
      ...more,
      noCheck: flag('save without asking the model for an answer'),
      service: flag('install the service and start it, without asking'),
      copyKeys,
    },
    examples: ['init', 'init --yes --provider ollama --model qwen3:8b'],
    load: async () => (await import('../assistant/init.ts')).initCommand,
  });

export const status = command({
  name: 'status',
  description: 'show the state of the assistant, its channels, models and stores',
  worksOn: 'any folder',
  options: { json },
  examples: ['status', 'status --json'],
  load: async () => (await import('../assistant/status.ts')).statusCommand,
});

export const page = command({
  name: 'page',
  description: 'print a link that opens the page of the running assistant in a browser, once',
  options: { json },
  load: async () => (await import('../assistant/page.ts')).pageCommand,
});

export const doctor = command({
  name: 'doctor',
  description: 'look for everything that can be wrong, and name the command that mends it',
  worksOn: 'any folder',
  options: {
    fix: flag('mend what can be mended without a risk: permissions, missing files, left-over files'),
    offline: flag('reach no server and start no program'),
    json: flag('as JSON'),
  },
  exits: { 0: 'nothing failed', 1: 'something failed' },
  load: async () => (await import('../assistant/doctor.ts')).doctorCommand,
});

export const prompt = command({
  name: 'prompt',
  description: 'show the system prompt and the tools, and the size of each part',
  options: {
    session: text('<key>', 'the session, e.g. telegram:123456789', { fallback: 'terminal:main' }),
    full: flag('show the whole text of the system prompt and of every tool'),
    json,
  },
  examples: ['prompt --full', 'prompt --session telegram:123456789'],
  load: async () => (await import('../assistant/prompt.ts')).promptCommand,
});

export const store: Group = {
  name: 'store',
  description: 'the databases of the home',
  commands: [
    command({
      name: 'vacuum',
      description: 'make the databases smaller; stop the assistant first',
      options: { json },
      examples: ['store vacuum'],
      load: async () => (await import('../assistant/store.ts')).storeVacuumCommand,
    }),
    command({
      name: 'migrate',
      description: 'move the home into PostgreSQL, or back into the folder; stop the assistant first',
      options: {
        to: text('<address>', 'postgres://…, one with a ${VARIABLE}, file:PATH of a file with it; local is the folder'),
        json,
      },
      after:
        'Everything is compared by counts and hashes before the setting store changes. Cut off, it goes on when run again.',
      examples: ["store migrate --to '${STORE_URL}'", 'store migrate --to local'],
      load: async () => (await import('../assistant/store-migrate.ts')).storeMigrateCommand,
    }),
  ],
};
