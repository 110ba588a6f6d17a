import { fileStamp, fileText, shortened, type PromptLayerSource } from '../../core/api-memory.ts';

/** Characters of MEMORY.md in a prompt, by how much the model reads at once. */
const CAPS = { full: 20_000, small: 3_000, tiny: 1_000 };

/** MEMORY.md, where only the owner reads the answer. */
export function memoryLayer(file: string): PromptLayerSource {
  return {
    name: 'memory',
    stamp: () => fileStamp(file),
    text: async ({ ownersDirectChat, light = false, size = 'full' }) => {
      if (!ownersDirectChat || light) return '';
      const text = (await fileText(file)).replaceAll(/<!--.*?-->/gsu, '').trim();
      if (!/^(?!#|\s*$)/mu.test(text)) return '';
      return `# Memory\n\nWhat you noted about the owner in earlier conversations. The tool memory_write changes it.\n\n## Long-term Memory\n\n${shortened(text, CAPS[size], 'memory/MEMORY.md')}`;
    },
  };
}
