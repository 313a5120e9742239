/** Control characters but line ends and tabs, and escapes but those of our own colours. */
// oxlint-disable-next-line no-control-regex -- control characters are what it is about
const UNSHOWABLE = /\u001B(?!\[\d{1,3}m)|[\0-\u0008\u000B-\u001A\u001C-\u001F\u007F-\u009F]/g;

/**
 * Names and messages of servers, repositories and models are shown as they are, but must not move
 * the cursor, rename the window or take back a line.
 */
export function shown(text: string): string {
  return text.replaceAll(UNSHOWABLE, "\uFFFD");
}
