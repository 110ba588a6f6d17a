import { join } from 'node:path';
import { createAssistant, type Assistant, type AssistantSettings } from '../../src/app.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import type { FakeModel } from '../support/fake-model.ts';
import { tempFolder } from '../support/temp.ts';

/** A program with an assistant inside, a model server and a home of its own. */
export interface LibraryWorld extends AsyncDisposable {
  readonly home: string;
  readonly workspace: string;
  readonly model: FakeModel;
  readonly assistant: Assistant;
  /** Starts an assistant in the same home; the one before must be closed. */
  start(settings?: AssistantSettings): Promise<Assistant>;
}

/** `settings`: over those that name home and model. */
export async function startLibrary(settings: AssistantSettings = {}): Promise<LibraryWorld> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await tempFolder());
  const model = stack.use(await startFakeOpenAi());
  const home = join(folder.path, 'home');
  const config = {
    agent: { model: 'openai/scripted-model' },
    providers: { openai: { apiKey: 'key-of-a-test', baseUrl: model.url } },
  };
  const environment = { PATH: process.env['PATH'], HOME: folder.path };
  let assistant: Assistant | undefined;
  stack.defer(async () => assistant?.close());
  const start = async ({ config: own, ...others }: AssistantSettings = settings): Promise<Assistant> =>
    (assistant = await createAssistant({
      home,
      environment,
      log: silentLog,
      ...others,
      config: { ...config, ...own },
    }));
  await start();
  const owned = stack.move();
  return {
    home,
    workspace: join(home, 'workspace'),
    model,
    get assistant() {
      if (assistant === undefined) throw new Error('no assistant was started');
      return assistant;
    },
    start,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
