import { methods, type AgentContext, type ClientCapabilities } from '@agentclientprotocol/sdk';
import { fitsEditor, type EditorFileReply, type EditorFileRequest, type LentFiles } from '../core/bus/editor.ts';
import { errorMessage } from '../core/util/errors.ts';

export interface ClientFilesOptions {
  readonly sessionId: string;
  readonly client: AgentContext;
  readonly capabilities: ClientCapabilities;
  /** Aborts when the editor is gone. */
  readonly closed: AbortSignal;
  /** Waited for before each request, so that the editor knows of the call that it belongs to. */
  readonly told: () => Promise<void>;
  readonly log: (line: string) => void;
}

/** The files of an editor, as far as it offers them; undefined: not at all. */
export function clientFiles({
  sessionId,
  client,
  capabilities,
  closed,
  told,
  log,
}: ClientFilesOptions): LentFiles | undefined {
  const reads = capabilities.fs?.readTextFile === true;
  const writes = capabilities.fs?.writeTextFile === true;
  if (!reads && !writes) return undefined;
  const asked = async (request: EditorFileRequest, signal: AbortSignal): Promise<EditorFileReply> => {
    const options = { cancellationSignal: signal, stopWaitingOnCancel: true };
    const { path } = request;
    if (request.kind === 'read') {
      const { content } = await client.request(methods.client.fs.readTextFile, { sessionId, path }, options);
      // The SDK does not check answers.
      if (typeof content !== 'string') return { refused: 'its answer holds no text' };
      return fitsEditor(content) ? { text: content } : { tooLong: true };
    }
    const written = { sessionId, path, content: request.text };
    await client.request(methods.client.fs.writeTextFile, written, options);
    return { written: true };
  };
  return {
    reads,
    writes,
    ask: async (request, signal) => {
      await told();
      try {
        return await asked(request, signal);
      } catch (error) {
        signal.throwIfAborted();
        log(`acp: the editor did not ${request.kind} ${request.path}: ${errorMessage(error)}`);
        if (closed.aborted) throw error;
        return { refused: errorMessage(error) };
      }
    },
  };
}
