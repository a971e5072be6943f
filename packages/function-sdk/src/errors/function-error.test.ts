// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { errorText, FunctionError, isFunctionError } from "./function-error.ts";

class Unprintable {
  toJSON(): never {
    throw new Error("no");
  }
}

const circular: Record<string, unknown> = {};
circular["self"] = circular;

const endless = new Error("a");
endless.cause = endless;

const cases: Record<string, { reason: string; error: unknown; want: string }> = {
  Message: { reason: "an error is its message", error: new Error("boom"), want: "boom" },
  Cause: {
    reason: "causes follow, joined by a colon",
    error: new Error("cannot read", { cause: new Error("no such file", { cause: "ENOENT" }) }),
    want: "cannot read: no such file: ENOENT",
  },
  WrappedCause: {
    reason: "a message that already ends with its cause does not say it twice",
    error: new Error("outer: inner", { cause: new Error("inner") }),
    want: "outer: inner",
  },
  EmptyMessage: {
    reason: "an empty message leaves the word to the cause",
    error: new Error("", { cause: new Error("inner") }),
    want: "inner",
  },
  NoMessage: { reason: "an error without any text is at least named", error: new TypeError(), want: "TypeError" },
  Aggregate: {
    reason: "several errors are listed when they have no common message",
    error: new AggregateError([new Error("a"), new Error("b")]),
    want: "a; b",
  },
  Text: { reason: "strings are taken as they are", error: "plain text", want: "plain text" },
  ErrorLike: { reason: "an object with a message is like an error", error: { message: "like" }, want: "like" },
  OtherObject: { reason: "anything else is printed", error: { code: 7 }, want: '{"code":7}' },
  Undefined: { reason: "even nothing can be thrown", error: undefined, want: "undefined" },
  Circular: {
    reason: "what cannot be printed does not fail",
    error: circular,
    want: "an error that cannot be printed",
  },
  Unprintable: { reason: "nor does what refuses", error: new Unprintable(), want: "an error that cannot be printed" },
  UnprintableCause: {
    reason: "what can be printed around it is",
    error: new Error("cannot read", { cause: circular }),
    want: "cannot read: an error that cannot be printed",
  },
  NumberMessage: {
    reason: "a message may be anything in JavaScript",
    error: Object.assign(new Error(), { message: 5 }),
    want: "5",
  },
  UndefinedMessage: {
    reason: "or nothing",
    error: Object.assign(new TypeError(), { message: undefined }),
    want: "TypeError",
  },
  RefusingMessage: {
    reason: "or refuse to be read",
    error: {
      get message(): never {
        throw new Error("no");
      },
    },
    want: "an error that cannot be printed",
  },
  LoneSurrogate: { reason: "half a pair could not be sent", error: new Error("a\ud800b"), want: "a\ufffdb" },
};

for (const [name, { reason, error, want }] of Object.entries(cases)) {
  test(`error text: ${name}`, () => {
    assert.equal(errorText(error), want, reason);
  });
}

test("a chain of causes that never ends is cut", () => {
  assert.equal(errorText(endless), "a");
  const deep = Array.from({ length: 100 }).reduce<Error>(
    (cause, _, i) => new Error(`e${i}x`, { cause }),
    new Error("z"),
  );
  assert.ok(errorText(deep).length < 200);
});

test("function errors are recognized by their brand, not by their class", () => {
  const error = new FunctionError("NOT_FOUND", "nothing there");
  const copy = Object.create({}, Object.getOwnPropertyDescriptors(error)) as unknown;
  assert.ok(isFunctionError(error));
  assert.ok(isFunctionError(copy), "an error of another copy of this package");
  assert.ok(isFunctionError(error, "NOT_FOUND"));
  assert.ok(!isFunctionError(error, "WRONG_TYPE"));
  for (const other of [new Error("x"), null, undefined, "text", { code: "NOT_FOUND" }]) {
    assert.ok(!isFunctionError(other));
  }
});
