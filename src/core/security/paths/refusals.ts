import { AppError, errorCode } from '../../util/errors.ts';

/** A refusal, with one sentence for the model. */
export function refused(message: string): AppError {
  return new AppError('path-refused', message);
}

const SENTENCES: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist.',
  ENOTDIR: 'does not exist: a part of the path is a file or a link, not a directory.',
  EISDIR: 'is a directory; a file was expected.',
  ELOOP: 'cannot be opened: its links lead in a circle.',
  EACCES: 'cannot be opened: the system does not permit it.',
  EPERM: 'cannot be opened: the system does not permit it.',
  ENAMETOOLONG: 'is too long for a path.',
  ENOSPC: 'cannot be written: the disk is full.',
  EROFS: 'cannot be written: the disk is read-only.',
};

/** An error of the file system as one sentence about the path as the model wrote it; an `AppError` stays as it is. */
export function fileError(error: unknown, path: string): AppError {
  if (error instanceof AppError) return error;
  const code = errorCode(error) ?? 'unknown error';
  return new AppError('path-failed', `${path} ${SENTENCES[code] ?? `cannot be opened (${code}).`}`, {
    cause: error,
    facts: { code },
  });
}
