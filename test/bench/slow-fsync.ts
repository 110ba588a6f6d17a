import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const SOURCE = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
static void wait3(void) { struct timespec t = {0, 3000000}; nanosleep(&t, 0); }
int fsync(int fd) { static int (*real)(int); if (!real) real = dlsym(RTLD_NEXT, "fsync"); wait3(); return real(fd); }
int fdatasync(int fd) { static int (*real)(int); if (!real) real = dlsym(RTLD_NEXT, "fdatasync"); wait3(); return real(fd); }
`;

/** A library to preload that adds 3 ms to every fsync; undefined where there is no C compiler. */
export async function slowFsyncLibrary(folder: string): Promise<string | undefined> {
  const source = join(folder, 'slow-fsync.c');
  const library = join(folder, 'slow-fsync.so');
  await writeFile(source, SOURCE);
  try {
    await promisify(execFile)('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl']);
    return library;
  } catch {
    return undefined;
  }
}
