import { plainText } from '../../core/api-channels.ts';
import { isMarkupRefused } from './errors.ts';

/** What Telegram is told of a text: with its markup, or plain. */
export interface HtmlText {
  readonly text: string;
  readonly parse_mode?: 'HTML';
}

/** Sends HTML, and where Telegram refuses its markup, the same words without any; `onRefused` is told of that. */
export async function sendHtml<T>(
  html: string,
  send: (marked: HtmlText) => Promise<T>,
  onRefused?: () => void,
): Promise<T> {
  try {
    return await send({ text: html, parse_mode: 'HTML' });
  } catch (error) {
    if (!isMarkupRefused(error)) throw error;
    onRefused?.();
    return await send({ text: plainText(html) });
  }
}
