// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { finish } from "@purlin/base";
import type { JsonValue } from "@purlin/function-protocol";
import { longestMessage, shortened } from "@purlin/kube-objects/object";
import { KnownValues, Scrubber } from "./scrubber.ts";
import { keyedMark, plainMark } from "./sensitive-fields.ts";

const mark = "**REDACTED**";
const password = "s3cret/pass+word";

function scrubberOf(...values: (string | Uint8Array)[]): Scrubber {
  const scrubber = new Scrubber(new KnownValues(plainMark));
  for (const value of values) scrubber.add(typeof value === "string" ? Buffer.from(value) : value);
  return scrubber;
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

const forms: Readonly<Record<string, readonly [text: string, want: string]>> = {
  "the value itself": [`password=${password};`, `password=${mark};`],
  "twice in one text": [`${password} ${password}`, `${mark} ${mark}`],
  "in JSON": [JSON.stringify({ p: password }), `{"p":"${mark}"}`],
  "in a URL": [`https://u:${encodeURIComponent(password)}@host`, `https://u:${mark}@host`],
  "in base64": [base64(password).replace(/=+$/, ""), `${mark}Q`],
  "another text": ["s3cret pass word", "s3cret pass word"],
  "the empty text": ["", ""],
};

for (const [name, [text, want]] of Object.entries(forms)) {
  test(`a secret value is replaced: ${name}`, () => {
    const clean = finish(scrubberOf(password).text(text));
    if (name === "in base64")
      assert.ok(clean.startsWith(mark) && !clean.includes(base64(password).slice(0, 16)), clean);
    else assert.equal(clean, want);
  });
}

test("base64 is found at every offset within a longer text", () => {
  const scrubber = scrubberOf(password);
  for (const before of ["", "u", "us", "use", "user:"]) {
    const encoded = base64(`${before}${password}:rest`);
    assert.ok(finish(scrubber.text(encoded)).includes(mark), before);
    const url = Buffer.from(`${before}${password}:rest`).toString("base64url");
    assert.ok(finish(scrubber.text(url)).includes(mark), `${before} in base64url`);
  }
});

test("a value with characters that JSON escapes is found in JSON, and spaces in a form", () => {
  const scrubber = scrubberOf('say "hello" now');
  assert.equal(finish(scrubber.text(JSON.stringify(['say "hello" now']))), `["${mark}"]`);
  assert.equal(finish(scrubber.text("q=say+%22hello%22+now")), `q=${mark}`);
});

test("the lines of a key are found one by one, and its armor stays", () => {
  const key = "-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\nab\n-----END KEY-----\n";
  const indented = key
    .split("\n")
    .map((line) => `    ${line}`)
    .join("\n");
  assert.equal(
    finish(scrubberOf(key).text(indented)),
    `    -----BEGIN KEY-----\n    ${mark}\n    ${mark}\n    ab\n    -----END KEY-----\n    `,
  );
});

test("values of less than eight bytes are marked, and not searched for", () => {
  const scrubber = scrubberOf("1234567");
  assert.equal(scrubber.hasValues, true);
  assert.equal(scrubber.hasForms, false);
  assert.equal(finish(scrubber.text("1234567")), "1234567");
  assert.equal(finish(scrubberOf("12345678").text("a12345678b")), `a${mark}b`);
  assert.equal(finish(scrubberOf("äöüß").text("äöüß")), mark, "eight bytes in four characters");
});

test("a value that contains another is replaced as a whole", () => {
  const scrubber = new Scrubber(new KnownValues(keyedMark(Buffer.from("key"))));
  const inner = scrubber.add(Buffer.from("password"));
  const outer = scrubber.add(Buffer.from("my-password-2"));
  assert.notEqual(inner, outer);
  assert.equal(finish(scrubber.text("my-password-2 password")), `${outer} ${inner}`);
});

test("a value that is a mark already stays, and is not searched for", () => {
  const scrubber = new Scrubber(new KnownValues(plainMark));
  assert.equal(scrubber.add(Buffer.from("**REDACTED:0123abcd**")), "**REDACTED:0123abcd**");
  assert.deepEqual([scrubber.hasValues, scrubber.hasForms], [false, false]);
});

test("a value that is part of a mark is replaced outside of marks only", () => {
  const scrubber = scrubberOf("REDACTED", password);
  assert.equal(finish(scrubber.text(`${password} REDACTED ${password}`)), `${mark} ${mark} ${mark}`);
  assert.equal(
    finish(scrubber.text("xREDACTED**REDACTED:0123abcd**REDACTEDx")),
    `x${mark}**REDACTED:0123abcd**${mark}x`,
  );
  assert.equal(finish(scrubber.text(`${mark}${mark}`)), `${mark}${mark}`);
  assert.equal(finish(scrubber.text("*REDACTED*")), `*${mark}*`, "not a mark");
  assert.equal(finish(scrubberOf("0123abcd").text("0123abcd **REDACTED:0123abcd**")), `${mark} **REDACTED:0123abcd**`);
  const clean: JsonValue = { a: mark };
  assert.equal(finish(scrubber.value(clean)), clean, "an object with marks is not copied");
});

test("a value that contains a mark is replaced as a whole", () => {
  assert.equal(finish(scrubberOf(`a${mark}b`).text(`xa${mark}by`)), `x${mark}y`);
});

test("a value that is only marked is not searched for", () => {
  const scrubber = new Scrubber(new KnownValues(plainMark));
  assert.equal(scrubber.mark(Buffer.from(password)), mark);
  assert.deepEqual([scrubber.hasValues, scrubber.hasForms, finish(scrubber.text(password))], [true, false, password]);
});

test("a value that is not text is found in base64 only", () => {
  const bytes = Uint8Array.from({ length: 12 }, (_, index) => 0xff - index);
  const scrubber = scrubberOf(bytes);
  assert.equal(finish(scrubber.text(Buffer.from(bytes).toString("base64"))), mark);
  assert.equal(finish(scrubber.text("plain")), "plain");
});

test("a value with a lone surrogate has no URL form, and does no harm", () => {
  assert.equal(finish(scrubberOf("a\ud800bcdefgh").text("nothing")), "nothing");
});

test("values that are added later are found too", () => {
  const scrubber = scrubberOf("first-secret");
  assert.equal(finish(scrubber.text("first-secret second-secret")), `${mark} second-secret`);
  scrubber.add(Buffer.from("second-secret"));
  assert.equal(finish(scrubber.text("first-secret second-secret")), `${mark} ${mark}`);
});

test("objects are copied only where something is replaced, keys included", () => {
  const scrubber = scrubberOf(password);
  const clean: JsonValue = { a: [1, null, true, "x"], b: { c: "d" } };
  assert.equal(finish(scrubber.value(clean)), clean);
  const kept = { x: 1 };
  const dirty: JsonValue = { [password]: [password, kept], kept };
  const copy = structuredClone(dirty);
  const replaced = finish(scrubber.value(dirty)) as { readonly kept: unknown };
  assert.deepEqual(replaced, { [mark]: [mark, kept], kept });
  assert.equal(replaced.kept, kept);
  assert.deepEqual(dirty, copy);
});

test("a member called __proto__ is a member", () => {
  const value = JSON.parse(`{"__proto__":"${password}"}`) as JsonValue;
  assert.deepEqual(Object.entries(finish(scrubberOf(password).value(value)) as object), [["__proto__", mark]]);
});

test("bytes are searched with few values and with many", () => {
  const few = scrubberOf(password);
  assert.equal(finish(few.isIn(Buffer.from(`x${password}y`))), true);
  assert.equal(finish(few.isIn(Buffer.from("nothing here"))), false);
  assert.equal(finish(scrubberOf().isIn(Buffer.from(password))), false);
  const many = scrubberOf(...Array.from({ length: 30 }, (_, index) => `secret-number-${index}`));
  for (const text of ["secret-number-29", `xx${base64("secret-number-7")}`, "abcsecret-number-0"])
    assert.equal(finish(many.isIn(Buffer.from(text))), true, text);
  for (const text of ["secret-numbe", "sec", "", "secret-number-"])
    assert.equal(finish(many.isIn(Buffer.from(text))), false, text);
});

test("bytes in the middle of a larger buffer are searched alone", () => {
  const whole = Buffer.from(`${password}clean`);
  assert.equal(finish(scrubberOf(password).isIn(whole.subarray(password.length))), false);
});

test("a value is found in the JSON of Go and of Python", () => {
  const scrubber = scrubberOf("a<b>&c-schlüssel\u2028");
  assert.equal(finish(scrubber.text(String.raw`{"p":"a\u003cb\u003e\u0026c-schlüssel\u2028"}`)), `{"p":"${mark}"}`);
  assert.equal(finish(scrubber.text(String.raw`{"p": "a<b>&c-schl\u00fcssel\u2028"}`)), `{"p": "${mark}"}`);
});

test("a value that ends with a line break is found in base64 without it", () => {
  const scrubber = scrubberOf(`${password}\n`);
  for (const before of ["", "u:", "us:", "use:"]) {
    const clean = finish(scrubber.text(`Basic ${base64(`${before}${password}`)}`));
    assert.ok(clean.includes(mark), before);
  }
});

test("values are remembered while they have 2 MiB together, and as long as they are short", () => {
  const known = new KnownValues(plainMark);
  const remembers = (id: string, bytes: number): boolean => {
    const value = Buffer.alloc(bytes);
    const first = known.get(id, value);
    return known.get(id, value) === first;
  };
  assert.deepEqual([remembers("short", 8192), remembers("long", 8193)], [true, false]);
  const first = known.get("short", Buffer.alloc(8192));
  for (let index = 1; index < 256; index++) known.get(`${index}`, Buffer.alloc(8192));
  assert.equal(known.get("short", Buffer.alloc(8192)), first);
  known.get("more", Buffer.alloc(1));
  assert.notEqual(known.get("short", Buffer.alloc(8192)), first);
});

const megabyte = 2 ** 20;
const longValues: Readonly<Record<string, readonly [value: string, json: (text: string) => string]>> = {
  "characters that Go escapes": ["<".repeat(megabyte / 4), (text) => text.replaceAll("<", String.raw`\u003c`)],
  "characters that Python escapes": ["é".repeat(megabyte / 8), (text) => text.replaceAll("é", String.raw`\u00e9`)],
  "characters of two units": ["a😀".repeat(50_000), (text) => encodeURIComponent(text)],
};
for (const [what, [value, encoded]] of Object.entries(longValues)) {
  test(`the forms of a long value are made in parts: ${what}`, () => {
    const scrubber = scrubberOf(value);
    const preparing = scrubber.text("something else");
    let parts = 0;
    while (!preparing.next().done) parts++;
    // Hashing alone takes less than 60.
    assert.ok(parts > 100, `${parts} parts`);
    assert.equal(finish(scrubber.text(encoded(value))), mark);
  });
}

test("the lines of a long value are found in parts", () => {
  const preparing = scrubberOf("a\n".repeat(megabyte / 2)).text("something else");
  let parts = 0;
  while (!preparing.next().done) parts++;
  assert.ok(parts > 1000, `${parts} parts`);
});

test("half of a value at the end of a text that was cut is left out, also in an object", () => {
  const scrubber = scrubberOf(password);
  for (const secret of [password, base64(password)]) {
    const text = shortened(`${"x".repeat(longestMessage - 15)}${secret} and more`);
    const clean = finish(scrubber.text(text));
    assert.equal(clean, `${"x".repeat(longestMessage - 15)}…`);
    assert.deepEqual(finish(scrubber.value({ conditions: [{ message: text }] })), { conditions: [{ message: clean }] });
    assert.equal(finish(scrubber.isIn(Buffer.from(text))), true, "such an object is looked at");
  }
  assert.equal(finish(scrubber.text("a short text s3cr…")), "a short text s3cr…");
});
