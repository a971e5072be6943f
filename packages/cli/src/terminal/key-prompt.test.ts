// SPDX-License-Identifier: Apache-2.0
// Keys that a user presses: actions, and a line that takes all keys until it ends.
import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { describe, test } from "node:test";
import { TestIo } from "../../test/test-io.ts";
import { KeyPrompt, keysOf, onKeys, quitKeys } from "./screen.ts";

/** A terminal as input: it knows whether it sends each key at once. */
function terminal(): PassThrough & { isTTY: boolean; setRawMode: (mode: boolean) => unknown; modes: boolean[] } {
  const modes: boolean[] = [];
  const setRawMode = (mode: boolean): unknown => modes.push(mode);
  return Object.assign(new PassThrough(), { isTTY: true, setRawMode, modes });
}

const pressed = async (input: PassThrough, ...keys: readonly string[]): Promise<void> => {
  for (const key of keys) input.write(key);
  await new Promise((resolve) => setImmediate(resolve));
};

describe("keys", () => {
  test("call their actions, in lower case, until the listener is disposed", async () => {
    const input = terminal();
    const seen: string[] = [];
    const action = (name: string) => () => void seen.push(name);
    {
      using _keys = onKeys(input as never, { a: action("a"), b: action("b"), ...quitKeys(action("quit")) });
      assert.deepEqual(input.modes, [true]);
      await pressed(input, "a", "Bx", "\u0003", "\u0004");
    }
    assert.deepEqual(seen, ["a", "b", "quit", "quit"]);
    assert.deepEqual(input.modes, [true, false]);
    assert.equal(input.isPaused(), true);
    await pressed(input, "a");
    assert.equal(seen.length, 4);
  });

  test("that a prompt takes do not call actions", async () => {
    const input = terminal();
    const seen: string[] = [];
    let isOpen = true;
    using _keys = onKeys(input as never, { a: () => void seen.push("action") }, (key) => {
      if (isOpen) seen.push(`typed ${key}`);
      return isOpen;
    });
    await pressed(input, "aé😀");
    isOpen = false;
    await pressed(input, "a");
    assert.deepEqual(seen, ["typed a", "typed é", "typed 😀", "action"], "a key is a character, not a byte");
  });

  test("come from a terminal only", () => {
    const withInput = (isTTY: boolean, input: object): unknown =>
      keysOf(Object.assign(new TestIo({ isTTY }), { stdin: input }) as never);
    const input = terminal();
    assert.equal(withInput(true, input), input);
    assert.equal(withInput(false, input), undefined);
    assert.equal(withInput(true, new PassThrough()), undefined);
  });
});

describe("a prompt", () => {
  const opened = (): { readonly prompt: KeyPrompt; readonly entered: string[]; readonly shown: () => string } => {
    const io = new TestIo({ isTTY: true });
    const entered: string[] = [];
    const prompt = new KeyPrompt("filter", io, (text) => void entered.push(text));
    prompt.open();
    return { prompt, entered, shown: () => io.stdout.text };
  };
  const type = (prompt: KeyPrompt, text: string): boolean[] => [...text].map((key) => prompt.type(key));

  test("passes on what was typed when Enter is pressed, once", () => {
    for (const enter of ["\r", "\n"]) {
      const { prompt, entered, shown } = opened();
      assert.ok(type(prompt, `abc${enter}`).every(Boolean));
      assert.deepEqual(entered, ["abc"]);
      assert.equal(shown(), "filter: \rfilter: a \b\rfilter: ab \b\rfilter: abc \b\n");
      assert.equal(prompt.type("x"), false, "it is closed");
      assert.deepEqual(entered, ["abc"]);
    }
  });

  test("passes on an empty line, and nothing after Escape", () => {
    const empty = opened();
    empty.prompt.type("\r");
    assert.deepEqual(empty.entered, [""]);
    const given = opened();
    type(given.prompt, "abc\u001b");
    assert.deepEqual([given.entered, given.prompt.type("x")], [[], false]);
  });

  test("erases the last character with both keys that terminals send, also beyond U+FFFF", () => {
    for (const erase of ["\u007f", "\b"]) {
      const { prompt, entered } = opened();
      type(prompt, `a😀b${erase}${erase}c\r`);
      assert.deepEqual(entered, ["ac"]);
    }
    const { prompt, entered } = opened();
    type(prompt, "\u007f\u007fa\r");
    assert.deepEqual(entered, ["a"]);
  });

  test("leaves Ctrl-C to others, and takes nothing before it is opened", () => {
    const { prompt } = opened();
    assert.equal(prompt.type("\u0003"), false);
    assert.equal(prompt.type("a"), true, "it is still open");
    assert.equal(new KeyPrompt("x", new TestIo({}), () => assert.fail("nothing was entered")).type("\r"), false);
  });
});
