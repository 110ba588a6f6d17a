import { isOn, skillsOff, speechOf } from '../program.ts';
import { createTurnSkills } from '../agent/prompt/active-skills.ts';
import { tooSmall } from '../agent/context/fit.ts';
import { createCallBounds } from '../agent/context/call-bounds.ts';
import { AgentLoop } from '../agent/loop.ts';
import { Consolidation } from '../agent/consolidation/consolidation.ts';
import { Questions } from '../agent/questions/questions.ts';
import { TurnRunner } from '../agent/turn/runner.ts';
import { createTape } from '../agent/commands/session-commands.ts';
import type { ModelName } from '../providers/provider.ts';
import { EditorFiles } from '../files/editor-store.ts';
import type { Tool } from '../tools/tool.ts';
import type { SkillCatalog } from '../skills/catalog.ts';
import { Slots } from '../util/slots.ts';
import { switchedOff } from '../util/text.ts';
import { type Finding, sentenceOf } from '../util/finding.ts';
import { storageFinding } from '../storage/storage-health.ts';
import type { App, Making } from '../app.ts';
import { Why } from './why.ts';
import { createCommands } from './commands.ts';
import { peopleFindings } from '../people/owners.ts';
import { ProviderResults } from './provider-results.ts';
import { createPairing } from '../people/pairing.ts';
import { createPrompts } from './prompt.ts';
import { registerTools } from './register-tools.ts';
import { OperationTable } from '../gateway/operations/call.ts';
import { OPERATIONS } from '../gateway/operations/operations.ts';
import { createApi } from '../gateway/openai/app-backend.ts';
import { createAttachments } from './attachments.ts';
import { openSkills, skillLayers } from '../skills/open-skills.ts';
import { healthOf } from './health.ts';
import { statusOf } from './status.ts';
import { createTools } from './tools.ts';
import { Undo } from '../agent/undo/undo.ts';
import { createEmbedder } from '../../app/memory/embedder.ts';
import { createForgetting } from '../stores/forgetting.ts';
import { SkillNews } from '../skills/skill-news.ts';

/** What the agent is made of beside the services. */
export interface Agent {
  /** Closing it ends the watches of the folders of skills. */
  readonly catalog: SkillCatalog & Disposable;
  readonly skillNews: Disposable;
  /** Loads what the first turn needs. */
  warm(model: ModelName): Promise<unknown>;
}

/**
 * Creates the agent; each part after the parts that it uses. What others use too becomes a service. `wrapTool` gets each tool
 * as it is registered, for a trial.
 */
export function createAgent({ app, add }: Making, wrapTool: ((tool: Tool) => Tool) | undefined): Agent {
  const { config, program, paths, log, env, plugins } = app;
  const questions = new Questions(app);
  const catalog = openSkills(config, paths, { env, log, plugins, without: skillsOff(program, config) });
  add({ questions, skills: catalog, slots: new Slots(config.agent.maxConcurrentTurns) });
  add({
    turnSkills: createTurnSkills(catalog, program.origins, (name) => config.skills.entries[name]?.env ?? {}),
  });
  add(createTools(app, wrapTool));
  add({ editorFiles: new EditorFiles(app) });
  const skillNews = new SkillNews(app);
  const prompts = createPrompts(
    app,
    skillLayers(catalog, (skills) => skillNews.look(skills)),
  );
  add({ prompts, ...createCallBounds(app) });
  add({ attachments: createAttachments(app) });
  app.channels.speech.use(async (...order) => (await speechOf(app)?.speak(app, ...order)) ?? UNSPOKEN);
  const consolidation = new Consolidation(app);
  app.search.useMeaning(createEmbedder(app));
  const resetSession: Consolidation['resetSession'] = async (sessionKey, reason, how) => {
    await consolidation.resetSession(sessionKey, reason, how);
    // What a running turn read stays in its conversation, and so do its pages.
    if (how?.during === null || how?.during === undefined) await plugins.forget(sessionKey);
  };
  add({ consolidation, forgetting: createForgetting(app), resetSession });
  add({ tape: createTape(app) });
  add({ turns: new TurnRunner(app) });
  registerTools(app);
  const { findingsNow, checkSpace } = createFindings(app);
  add({
    providerResults: new ProviderResults(app),
    undo: new Undo(app),
    why: new Why(app),
    pairing: createPairing(app),
  });
  add({ findingsNow, health: () => healthOf(app), status: (sessionKey, role) => statusOf(app, sessionKey, role) });
  add({ commands: createCommands(app), operations: operationsOf(app), api: createApi(app) });
  add({ loop: new AgentLoop(app) });
  return {
    catalog,
    skillNews,
    warm: (model) => Promise.all([app.bounds.warm(model).then(checkSpace), catalog.read(), app.sandbox?.probe()]),
  };
}

/** Those of the core and of the extensions that run; of the others the table knows why they are not there. */
function operationsOf({ program, config, plugins }: App): OperationTable {
  const off = program.extensions
    .filter((one) => !isOn(one, config))
    .flatMap(({ name, operations = [] }) => operations.map((one) => [one.name, `${switchedOff(name)}.`] as const));
  return new OperationTable([...OPERATIONS, ...plugins.running.flatMap((one) => one.operations ?? [])], new Map(off));
}

/** The person at the machine is the owner, who gets the longest prompt and all tools. */
const OWN_SESSION = 'terminal:main';
/** What becomes of a text that was to be spoken when nothing speaks any more. */
const UNSPOKEN = { failed: 'There is no voice message, because speech is not set up any more (voice.speech).' };

/**
 * What the person should know now, and the look at whether hardly anything of a conversation fits into the owner's
 * requests.
 */
function createFindings(app: App): {
  readonly findingsNow: App['findingsNow'];
  readonly checkSpace: () => Promise<void>;
} {
  const { paths, storage, loaded, log, journal, sessions, damage, hooks, prompts } = app;
  let squeezed: Finding | null = null;
  return {
    findingsNow: () => [
      ...app.findings,
      ...[storageFinding(storage.state, paths.home), squeezed].filter((finding) => finding !== null),
      ...peopleFindings(app, journal.people.list(), loaded.path),
      ...sessions.findings(),
      ...damage.all,
      ...hooks.findings(),
    ],
    checkSpace: async () => {
      const { model, tokens } = await prompts.report(OWN_SESSION);
      squeezed = tooSmall(model, tokens);
      if (squeezed !== null) log.warn(sentenceOf(squeezed), { model, window: tokens.window, space: tokens.space });
    },
  };
}
