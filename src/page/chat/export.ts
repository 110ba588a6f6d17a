import { operation } from '../net/http.ts';

/** Saves a conversation as a Markdown file. */
export async function exportSession(session: string): Promise<void> {
  const { name, text } = await operation('sessionsExport', { session, format: 'md' });
  const url = URL.createObjectURL(new Blob([text], { type: 'text/markdown' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
