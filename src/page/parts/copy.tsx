import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { after } from '../clock.ts';

/** Copies a text and says so for two seconds. */
export function CopyButton({ text, label }: { readonly text: string; readonly label: string }): VNode {
  const [said, say] = useState('Copy');
  const copy = async (): Promise<void> => {
    say((await write(text)) ? 'Copied' : 'Not copied');
    after(2_000, () => say('Copy'));
  };
  return (
    <button type="button" class="quiet" aria-label={said === 'Copy' ? label : said} onClick={() => void copy()}>
      {said}
    </button>
  );
}

async function write(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Only secure addresses have a clipboard; an address in the local network has not.
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'unseen';
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand('copy');
    area.remove();
    return isCopied;
  }
}
