import { strict as assert } from "node:assert";
import fc from "fast-check";
import { type Field, Message } from "./_protobuf.ts";

const number = fc.integer({ min: 1, max: 2 ** 29 - 1 });
const field: fc.Arbitrary<Field> = fc.oneof(
  fc.record({ number, type: fc.constant("varint" as const), value: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }) }),
  fc.record({ number, type: fc.constant("bytes" as const), value: fc.uint8Array({ maxLength: 300 }) }),
  fc.record({
    number,
    type: fc.constant("fixed" as const),
    value: fc.oneof(fc.uint8Array({ minLength: 4, maxLength: 4 }), fc.uint8Array({ minLength: 8, maxLength: 8 })),
  }),
);

Deno.test("[backends 3.5] a message comes back field for field, in the order of the numbers", () => {
  fc.assert(fc.property(fc.array(field), (fields) => {
    const sorted = fields.toSorted((a, b) => a.number - b.number);
    assert.deepEqual(plain(Message.decode(new Message(fields).encode()).fields), plain(sorted));
  }));
});

Deno.test("[backends 3.5] bytes that are no message are refused, never read beyond", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
    try {
      Message.decode(bytes);
    } catch (error) {
      assert.ok(error instanceof SyntaxError, String(error));
    }
  }));
  for (const hex of ["08", "0a05aa", "0affffffffffffffffff01", "03", "00", "0dffff", "08" + "ff".repeat(10)]) {
    assert.throws(() => Message.decode(Uint8Array.fromHex(hex)), SyntaxError, hex);
  }
});

Deno.test("[L35] integers keep all 64 bits", () => {
  for (const value of [0n, 127n, 128n, 5184430069070270604n, 2n ** 53n + 1n, 2n ** 64n - 1n]) {
    assert.equal(Message.decode(new Message().with(3, value).encode()).integer(3), value);
  }
});

Deno.test("[backends 3.5] with() replaces every value of a field, and() adds one, mapped() changes each", () => {
  const message = new Message().and(2, "a").and(2, "b").with(1, 7n);
  assert.equal(message.text(2), "b", "the last value counts");
  assert.equal(message.fields.length, 3);
  assert.deepEqual(plain(message.with(2, undefined).fields), plain(new Message().with(1, 7n).fields));
  const nested = new Message().and(2, new Message().with(1, 1n)).and(2, new Message().with(1, 2n));
  const doubled = nested.mapped(2, (m) => m.with(1, (m.integer(1) ?? 0n) * 2n));
  assert.deepEqual(doubled.messages(2).map((m) => m.integer(1)), [2n, 4n]);
});

function plain(fields: readonly Field[]): unknown {
  return fields.map((f) => [f.number, f.type, f.type === "varint" ? f.value : f.value.toHex()]);
}
