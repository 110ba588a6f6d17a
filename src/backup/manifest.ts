import * as z from 'zod';

/** The names in an archive: the files of the home are below the first, and the second comes last. */
export const HOME_FOLDER = 'home/';
export const MANIFEST = 'manifest.json';

/** A change that programs cannot read which know only lower numbers raises it. */
export const FORMAT = 1;

/** What an archive says of itself: which program made it, of what, and the hash of everything in it. */
export const manifestSchema = z.object({
  format: z.int(),
  /** Of the program. */
  version: z.string(),
  /** ISO 8601: the moment of the journal; all other files are from then or later. */
  createdAt: z.string(),
  /** Where the home was. */
  home: z.string(),
  /** An assistant had the home open, which may have gone on after the backup. */
  inUse: z.boolean(),
  /** Of the journal; null: the home had none. */
  journal: z.object({ version: z.int(), oldestReader: z.int() }).nullable(),
  /** Paths are relative to the home, with slashes. */
  files: z.array(z.object({ path: z.string(), size: z.int(), mode: z.int(), sha256: z.string() })),
  /** Symbolic links, which no archive holds as entries: they are made anew behind the files. */
  links: z.array(z.object({ path: z.string(), target: z.string() })),
});

export type Manifest = z.output<typeof manifestSchema>;
