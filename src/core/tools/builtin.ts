import { PAGE_MARGIN } from './registry/result.ts';
import type { GuardedFetch } from '../security/fetch/fetch.ts';
import type { Clock } from '../util/clock.ts';
import type { BackgroundProcesses } from './exec/background.ts';
import type { ReadDocument } from './documents/document-reader.ts';
import { createExecTool, type ExecOptions } from './exec/exec.ts';
import type { FileOrigins } from '../files/origins.ts';
import { processTool } from './exec/process-tool.ts';
import type { Tool } from './tool.ts';
import { webFetchTool } from './web/web-fetch.ts';
import { createPageReader } from './web/page-reader.ts';
import { webSearchTool, type WebSearchOptions } from './web/web-search.ts';

export interface BuiltinOptions {
  /** Knows which files hold untrusted content. @default none is known */
  readonly origins?: FileOrigins;
  /** Longest output in characters. */
  readonly maxOutput: number;
  readonly clock: Clock;
  readonly exec: Omit<ExecOptions, 'clock'> & {
    /** @default no command can run in the background */ readonly background?: BackgroundProcesses;
  };
  readonly readDocument: ReadDocument;
  /** Fetches URLs that a model or untrusted content chose. */
  readonly fetch: GuardedFetch;
  readonly search: WebSearchOptions;
}

/** The built-in tools. */
export function builtinTools(options: BuiltinOptions): readonly Tool[] {
  const { origins, maxOutput, clock, exec, readDocument, fetch, search } = options;
  const pageChars = maxOutput - PAGE_MARGIN;
  const readPage = createPageReader({ clock, readDocument });
  return [
    createExecTool({ ...exec, clock, origins }),
    ...(exec.background === undefined ? [] : [processTool({ pageChars, processes: exec.background, clock })]),
    webFetchTool({ fetch, clock, readPage, maxChars: pageChars }),
    webSearchTool(search),
  ];
}
