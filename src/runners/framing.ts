import { StringDecoder } from "node:string_decoder";
import { createParser } from "eventsource-parser";

/** Cuts a stream of bytes into messages. Boundaries of chunks may lie anywhere, also in a character. */
export interface Framing {
  feed(chunk: Buffer): void;
  /** The stream ended: what is left over is a message only where the protocol says so. */
  end(): void;
}

/** Longest single message before a stream is taken for something else than it says. */
const MESSAGE_CHARACTERS = 32 << 20;

export class FramingError extends Error {}

/**
 * Server-sent events (the format of the WHATWG HTML standard): comments, which servers send as
 * pings, are left out, CRLF is a line end, an event that the stream's end cuts off is dropped.
 */
export function sseFraming(onMessage: (data: string) => void): Framing {
  const decoder = new StringDecoder("utf8");
  const parser = createParser({
    onEvent: (event) => onMessage(event.data),
    maxBufferSize: MESSAGE_CHARACTERS,
    onError: (error) => {
      // Unknown fields and bad retry values are to be ignored; only a buffer run full matters.
      if (error.type === "max-buffer-size-exceeded") throw new FramingError(error.message);
    },
  });
  return {
    feed: (chunk) => parser.feed(decoder.write(chunk)),
    end: () => undefined,
  };
}

/** One JSON text a line (Ollama). The last line may lack its line end. */
export function lineFraming(onMessage: (data: string) => void): Framing {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  const emit = (line: string): void => {
    if (line.trim() !== "") onMessage(line);
  };
  return {
    feed(chunk) {
      const text = rest + decoder.write(chunk);
      let from = 0;
      for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", from)) {
        emit(text.slice(from, at));
        from = at + 1;
      }
      rest = text.slice(from);
      if (rest.length > MESSAGE_CHARACTERS) throw new FramingError("a line without an end");
    },
    end() {
      emit(rest + decoder.end());
      rest = "";
    },
  };
}
