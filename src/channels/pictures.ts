/** Whether a file of this media type is a picture that models can look at; the others are documents. */
export function isPicture(mediaType = ''): boolean {
  return /^image\/(?:png|jpeg|gif|webp)$/u.test(mediaType);
}
