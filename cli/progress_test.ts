import assert from "node:assert/strict";
import { MemoryStream } from "./_test_world.ts";
import { ProgressLine, progressText } from "./progress.ts";

/** A clock whose calls are made by hand. */
class Hand {
  readonly waits: number[] = [];
  #due: (() => void) | undefined;

  readonly later = (call: () => void, milliseconds: number) => {
    this.waits.push(milliseconds);
    this.#due = call;
    return () => this.#due = undefined;
  };

  tick(): void {
    const due = this.#due;
    this.#due = undefined;
    due?.();
  }
}

Deno.test("[commands 1.2] progress appears after half a second, is redrawn in place and removed", () => {
  const stream = new MemoryStream(true);
  const hand = new Hand();
  const line = new ProgressLine(stream, hand.later);
  line.report({ verb: "reading states", done: 1, total: 9 });
  line.report({ verb: "reading states", done: 2, total: 9 });
  assert.deepEqual([stream.text], [""]);
  hand.tick();
  assert.deepEqual([stream.text], ["\r\x1b[Kreading states 2/9"]);
  line.report({ verb: "reading states", done: 3, total: 9 });
  hand.tick();
  assert.deepEqual(hand.waits, [500, 100]);
  assert.deepEqual([stream.text], ["\r\x1b[Kreading states 2/9\r\x1b[Kreading states 3/9"]);
  line.clear();
  line.clear();
  assert.ok(stream.text.endsWith("3/9\r\x1b[K"));
  line.report({ verb: "reading states", done: 4, total: 9 });
  line.end();
  hand.tick();
  assert.ok(stream.text.endsWith("3/9\r\x1b[K"));
});

Deno.test("a progress line is never wider than the terminal", () => {
  const stream = new MemoryStream(true);
  const hand = new Hand();
  new ProgressLine(stream, hand.later).report({ verb: "x".repeat(200), done: 1 });
  hand.tick();
  assert.equal(stream.text, `\r\x1b[K${"x".repeat(79)}`);
  assert.equal(progressText({ verb: "hashing", done: 7 }), "hashing 7");
  const within = { key: "raw", done: 64, unit: "files" };
  assert.equal(progressText({ verb: "reading", done: 0, total: 2, within }), "reading 0/2 (raw: 64 files)");
  assert.equal(
    progressText({ verb: "reading", done: 0, total: 2, within: { ...within, total: 90 } }),
    "reading 0/2 (raw: 64/90 files)",
  );
});
