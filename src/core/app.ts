import type { Finding } from './util/finding.ts';
import type { CommandTable } from './agent/commands/table.ts';
import type { Budget } from './agent/context/budget.ts';
import type { CallBounds } from './agent/context/call-bounds.ts';
import type { ContextWindow } from './agent/context/fit.ts';
import type { StatusReport } from './agent/commands/command.ts';
import type { createPairing } from './people/pairing.ts';
import type { Why } from './assistant/why.ts';
import type { Undo } from './agent/undo/undo.ts';
import type { TapeActions } from './tools/tape.ts';
import type { AgentLoop } from './agent/loop.ts';
import type { Slots } from './util/slots.ts';
import type { Consolidation } from './agent/consolidation/consolidation.ts';
import type { TurnSkills } from './agent/prompt/active-skills.ts';
import type { Questions } from './agent/questions/questions.ts';
import type { HookRunner, TurnFacts } from './agent/hooks/hooks.ts';
import { renderer } from './agent/turn/shown-text.ts';
import type { ProviderResults } from './assistant/provider-results.ts';
import type { Base } from './assistant/base.ts';
import type { Reloader } from './assistant/reload.ts';
import type { OperationTable } from './gateway/operations/call.ts';
import type { Forgetting } from './stores/forgetting.ts';
import type { HealthFacts } from './gateway/operations/health.ts';
import type { ApiBackend } from './gateway/openai/backend.ts';
import type { HttpSlot } from './gateway/operations/ports.ts';
import type { EditorFiles } from './files/editor-store.ts';
import type { Channels } from './assistant/channels.ts';
import type { Notices } from './assistant/notices.ts';
import type { Models } from './assistant/models.ts';
import type { Stores } from './stores/stores.ts';
import type { Prompts } from './assistant/prompt.ts';
import type { Attachments } from './channels/inbound/attachments.ts';
import type { MessageBus } from './bus/bus.ts';
import type { TurnRunner } from './agent/turn/runner.ts';
import type { InboundMessage, Role } from './bus/messages.ts';
import type { Section } from './config/schema.ts';
import type { FileAccess } from './files/access.ts';
import type { GuardedFetch } from './security/fetch/fetch.ts';
import type { PathGuard } from './security/paths/open-inside.ts';
import type { Landing } from './landing/contract.ts';
import type { Sandbox } from './security/enclosure/sandbox.ts';
import type { SkillCatalog } from './skills/catalog.ts';
import type { ToolRegistry } from './tools/registry/registry.ts';
import { machineZone } from './util/time-zone.ts';
import type * as z from 'zod';

/** What is made in the course of a start, in this order. Everything may keep the `App`; nothing may read a service before it is made. */
export interface Services extends Omit<Stores, 'files'> {
  /** SOUL.md and its like. */
  readonly keptFiles: Stores['files'];
  readonly hooks: HookRunner;
  readonly bus: MessageBus;
  /** Notices to the owner. */
  readonly notices: Notices;
  readonly channels: Channels;
  readonly models: Models;
  readonly http: HttpSlot;
  /** Restarts the process; undefined where nothing would start it again. */
  readonly restart: (() => void) | undefined;
  /** Redacts these in every text from now on. */
  readonly learnSecrets: (secrets: readonly string[]) => void;
  /** Applies what changed in the configuration. */
  readonly reload: Reloader['reload'];
  readonly questions: Questions;
  /** Limit how many model calls and tools run at once, over all turns. */
  readonly slots: Slots;
  readonly skills: SkillCatalog;
  /** The skills that messages call, and what these do to a turn. */
  readonly turnSkills: TurnSkills;
  readonly tools: ToolRegistry;
  /** The guard of paths. */
  readonly guard: PathGuard;
  /** Of commands, documents and pages; null where it is switched off (`tools.exec.sandbox`). */
  readonly sandbox: Sandbox | null;
  /** Lets commands work on a view of the workspace that lands whole or not at all. */
  readonly landing: Landing;
  /** Files as tools reach them: guarded, with what strangers wrote marked, each change undoable. */
  readonly files: FileAccess & { readonly keepImage: (bytes: Uint8Array) => Promise<string> };
  /** Fetches public addresses and those that the owner allowed. */
  readonly fetch: GuardedFetch;
  /** Unsaved files that an editor shows. */
  readonly editorFiles: EditorFiles;
  readonly prompts: Prompts;
  /** Keeps each model call within its bounds: budget, context window, cached prefix. */
  readonly bounds: CallBounds;
  readonly budget: Budget;
  readonly contextWindow: ContextWindow;
  /** Fetches the attachments of messages. */
  readonly attachments: Attachments;
  /** Writes the older parts of a conversation into the memory. */
  readonly consolidation: Consolidation;
  readonly forgetting: Forgetting;
  /** How the newest turn of each model provider ended. */
  readonly providerResults: ProviderResults;
  /** Begins a session anew. */
  readonly resetSession: Consolidation['resetSession'];
  readonly tape: TapeActions;
  readonly turns: Pick<TurnRunner, 'run' | 'stop' | 'running'>;
  readonly undo: Undo;
  readonly why: Why;
  /** What the person should know now, beside what extensions say. */
  readonly findingsNow: () => readonly Finding[];
  readonly health: () => Promise<HealthFacts>;
  readonly status: (sessionKey: string, role: Role) => Promise<StatusReport>;
  /** What the API in the shapes of OpenAI's knows of messages and models. */
  readonly api: ApiBackend;
  /** What may be asked of the assistant beside talking to it. */
  readonly operations: OperationTable;
  /** Who is let in, and the chat commands. */
  readonly pairing: ReturnType<typeof createPairing>;
  readonly commands: CommandTable;
  readonly loop: AgentLoop;
}

/**
 * The assistant of this process as its parts see it: one object with a service by each name. A class that works with it
 * takes it as `app`; a function that only computes takes the values.
 */
export interface App extends Base, Services {
  /** Aborts when the process stops. */
  readonly closing: AbortSignal;
  /** The settings of an extension, as they are in force now. */
  readonly settingsOf: <S extends z.ZodType>(section: Section<S>) => z.output<S>;
  /**
   * What this function makes of the app: made at the first call, the same from then on, disposed of at the end. The place for
   * what an extension keeps; where it loads something heavy, the function is asynchronous.
   */
  once<T>(make: (app: App) => T): T;
  readonly people: {
    /** The weaker of a role then and what a person may be now; null: they are not let in any more. */
    readonly roleNow: (by: Person, then: string) => Role | null;
    /** The chat in which the owner wrote last; undefined: none is known. */
    readonly ownersChat: (among?: readonly string[]) => InboundMessage | undefined;
  };
  /** A text of the extension as the `render` hooks let people see it. Rejects while one of their guards does not run. */
  rendered(text: string, facts: TurnFacts): Promise<string>;
  /** The person's time zone, as far as it is known. */
  zone(): string;
}

export interface Person {
  readonly channel: string;
  readonly id: string;
  readonly chatType: 'direct' | 'group';
  readonly chat: string;
}

/** An `App` that is being made. */
export interface Making extends AsyncDisposable {
  readonly app: App;
  /** Adds services. */
  readonly add: (services: Partial<Services>) => void;
}

/** The app over what is there before any service. */
export function makeApp(
  base: Base,
  { closing, roleNow }: { readonly closing: AbortSignal; readonly roleNow: App['people']['roleNow'] },
): Making {
  const made = new Map<unknown, unknown>();
  const disposed = new AsyncDisposableStack();
  const own = {
    closing,
    settingsOf: <S extends z.ZodType>(section: Section<S>) => section.of(app.config),
    once: <T>(make: (app: App) => T): T => {
      if (!made.has(make)) {
        const value = make(app);
        made.set(make, value);
        disposed.defer(() => dispose(value));
      }
      // It is what this very function returned.
      return made.get(make) as T;
    },
    people: {
      roleNow,
      ownersChat: (among?: readonly string[]) => app.journal.questions.ownersChat(among),
    },
    rendered: async (text: string, facts: TurnFacts) => {
      const missing = app.plugins.missingGuards.find(({ hooks }) => hooks?.render !== undefined);
      if (missing !== undefined) throw new Error(`the guard ${JSON.stringify(missing.name)} isn't running`);
      return (await renderer(facts, app)?.(text)) ?? text;
    },
    zone: () =>
      app.plugins
        .each('zone')
        .map(([, zone]) => zone())
        .find((zone) => zone !== undefined) ??
      app.config.agent.timezone ??
      machineZone(),
  };
  // Base shows some things as they are at each look.
  const app = Object.defineProperties(own, Object.getOwnPropertyDescriptors(base)) as unknown as App;
  return {
    app,
    add: (services) => void Object.assign(app, services),
    [Symbol.asyncDispose]: () => disposed.disposeAsync(),
  };
}

async function dispose(value: unknown): Promise<void> {
  const thing: unknown = await Promise.resolve(value).catch(() => undefined);
  if (typeof thing !== 'object' || thing === null) return;
  if (Symbol.asyncDispose in thing) await (thing as AsyncDisposable)[Symbol.asyncDispose]();
  else if (Symbol.dispose in thing) (thing as Disposable)[Symbol.dispose]();
}
