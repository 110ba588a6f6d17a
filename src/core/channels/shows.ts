/** Told to the model of a platform that shows Markdown. */
export const MARKDOWN = 'Write Markdown, which this chat shows; a table appears as monospaced text.';
