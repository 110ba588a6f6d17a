import MarkdownIt from 'markdown-it';
import { safeLink } from './shown.ts';

/** Reads Markdown; raw HTML in it is text, and only web and mail addresses become links. */
export const parser = new MarkdownIt({ html: false, linkify: true, breaks: true });
parser.validateLink = (href) => safeLink(href) !== undefined;
