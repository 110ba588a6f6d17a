import { imageType, type KeepWhole, type ToolContext, type ToolResult } from '../../core/api-tools.ts';
import { cut } from '../../core/api.ts';
import type { Acted } from './browser.ts';

export interface ResultPorts {
  /** Longest output, characters. */
  readonly maxChars: number;
  /** Keeps a longer page in a file that the session can read. */
  readonly spill: KeepWhole;
  /** Keeps a screenshot for the model; returns its absolute path. */
  readonly keepImage: (bytes: Uint8Array) => Promise<string>;
}

/** Characters for what stands beside the page. */
const MARGIN = 1_500;
const REFUSED = 'Not everything that the page wanted was let through; what was not is listed under "refused".';

/** What the model reads of a page: the tree first, then what happened beside it. */
export async function pageResult(
  did: string,
  acted: Acted,
  {
    ports,
    context,
    isPrivate,
  }: { readonly ports: ResultPorts; readonly context: ToolContext; readonly isPrivate: boolean },
): Promise<ToolResult> {
  const { view, error, refusals, image } = acted;
  const beside = [
    ...view.notes.map((note) => `- ${note}`),
    ...(refusals.length === 0 ? [] : ['refused:', ...refusals.map((sentence) => `- ${sentence}`)]),
  ].join('\n');
  const page = await shown(view.snapshot, { ports, context });
  const output = [error === undefined ? '' : `It failed: ${error}`, page.text, cut(beside, MARGIN)];
  const media = image === undefined ? undefined : await screenshot(image, ports);
  return {
    title: did,
    output: output.filter((part) => part !== '').join('\n\n'),
    metadata: { url: view.url, title: view.title, ...(page.left > 0 ? { truncated: true, left: page.left } : {}) },
    ...(refusals.length === 0 ? {} : { note: REFUSED }),
    ...(error === undefined ? {} : { isError: true }),
    ...(isPrivate ? { private: true } : {}),
    ...(media === undefined ? {} : { media: [media] }),
  };
}

async function shown(
  snapshot: string,
  { ports: { maxChars, spill }, context }: { readonly ports: ResultPorts; readonly context: ToolContext },
): Promise<{ readonly text: string; readonly left: number }> {
  const most = maxChars - MARGIN;
  if (snapshot.length <= most) return { text: snapshot, left: 0 };
  const begun = cut(snapshot, most);
  const lineEnd = begun.lastIndexOf('\n');
  const text = lineEnd > 0 ? begun.slice(0, lineEnd) : begun;
  const left = snapshot.length - text.length;
  const kept = await spill(context.call, snapshot).catch(() => undefined);
  const where = kept === undefined ? '' : `; the whole is in a file that read_file shows in pages: ${kept}`;
  return { text: `${text}\n\n(${left} more characters of this page${where})`, left };
}

/** Undefined: what came out of the sandbox is no picture. */
async function screenshot(
  base64: string,
  { keepImage }: ResultPorts,
): Promise<NonNullable<ToolResult['media']>[number] | undefined> {
  const bytes = Buffer.from(base64, 'base64');
  const mediaType = imageType(bytes);
  if (mediaType === undefined) return undefined;
  const path = await keepImage(bytes);
  return { kind: 'image', mediaType, path, name: 'screenshot.jpg', size: bytes.length };
}
