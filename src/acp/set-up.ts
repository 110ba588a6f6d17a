import { methods, type AgentContext, type RequestPermissionRequest } from '@agentclientprotocol/sdk';
import type { EditorServer } from '../core/bus/editor.ts';
import type { ApprovalReply, AssistantPort } from '../core/gateway/assistant-port.ts';
import type { EditorSessionInfo } from '../core/gateway/operations/editors.ts';
import { raceAbort } from '../core/util/clock.ts';
import { serverPermission } from './client-servers.ts';
import { folderPermission, replyOf } from './permission.ts';

export interface SetUpOptions {
  readonly assistant: Pick<AssistantPort, 'call'>;
  readonly client: AgentContext;
  /** The editor's id of the conversation. */
  readonly sessionId: string;
  /** Shows a sentence in the conversation. */
  readonly say: (sentence: string) => void;
  /** Attaches anew, with the servers that were agreed to by now. */
  readonly attachAnew: () => void;
}

/** What the owner is asked before a prompt: whether the open folder may be used, and which MCP servers of the editor. */
export class SetUp {
  readonly #options: SetUpOptions;
  #facts: EditorSessionInfo;
  #unasked: readonly EditorServer[];
  #servers: readonly EditorServer[] = [];
  /** Of two prompts at once only the first asks. */
  #asking: Promise<void> = Promise.resolve();

  /** `brought`: the servers of the editor. */
  constructor(facts: EditorSessionInfo, brought: readonly EditorServer[], options: SetUpOptions) {
    this.#facts = facts;
    this.#unasked = brought;
    this.#options = options;
  }

  /** The servers that were agreed to. */
  get servers(): readonly EditorServer[] {
    return this.#servers;
  }

  /** Asks what was not asked yet; resolves when the servers run or have failed, or the signal aborts. */
  async ask(signal: AbortSignal): Promise<void> {
    const asked = this.#asking.then(async () => {
      if (!signal.aborted) await this.#askForFolder(signal);
      if (!signal.aborted) await this.#askForServers(signal);
    });
    this.#asking = asked.catch(() => {});
    await asked;
  }

  async #askForFolder(signal: AbortSignal): Promise<void> {
    const { session, folder, allowed } = this.#facts;
    if (allowed !== null) return;
    const { assistant, say, sessionId } = this.#options;
    const reply = await this.#permission(folderPermission(sessionId, folder), signal);
    if (signal.aborted) return;
    const decision = { session, allowed: reply !== false, always: reply === 'always' };
    this.#facts = await assistant.call('editorsAllow', decision);
    if (reply === false) say(`I work without the folder ${folder}: I can neither read nor change its files.`);
  }

  async #askForServers(signal: AbortSignal): Promise<void> {
    const { assistant, say, sessionId, attachAnew } = this.#options;
    const agreed: EditorServer[] = [];
    while (!signal.aborted) {
      const [server] = this.#unasked;
      if (server === undefined) break;
      const reply = await this.#permission(serverPermission(sessionId, server), signal);
      if (signal.aborted) break;
      this.#unasked = this.#unasked.slice(1);
      if (reply === false) say(`I work without the MCP server ${server.name}.`);
      else agreed.push(server);
    }
    if (agreed.length > 0) {
      this.#servers = [...this.#servers, ...agreed];
      attachAnew();
    }
    if (this.#servers.length === 0) return;
    // Also those of a gateway that was started again have to run first.
    const running = assistant.call('editorsServers', { session: this.#facts.session });
    const reports = await raceAbort(running, signal).catch(() => []);
    for (const { name } of signal.aborted ? [] : agreed) {
      const { trouble } = reports.find((report) => report.name === name) ?? { trouble: 'it was not started' };
      if (trouble !== null) say(`The MCP server ${name} of the editor does not work: ${trouble}`);
    }
  }

  /** No answer is a no. */
  async #permission(request: RequestPermissionRequest, signal: AbortSignal): Promise<ApprovalReply> {
    const options = { cancellationSignal: signal, stopWaitingOnCancel: true };
    return await this.#options.client
      .request(methods.client.session.requestPermission, request, options)
      .then(replyOf, () => false as const);
  }
}
