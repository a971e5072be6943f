// SPDX-License-Identifier: Apache-2.0
// What may follow the words of a command line, with names of a control plane that exists in memory.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TestIo } from "../../test/test-io.ts";
import { commandTable } from "../commands/command-table.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { complete, currentWord, listedValues, printCompletion, splitLine } from "./complete-command.ts";
import type { LiveNames } from "./live-names.ts";

/** Names that show the request and the words so far. */
function namesOf(input: CommandInput, asked: string[]): LiveNames {
  const ask = (what: string) => async (prefix: string) => {
    asked.push(`${what}(${prefix})${JSON.stringify(input.options)}`);
    return [{ value: `${what}-1` }];
  };
  return {
    types: ask("types"),
    namesOf: (type, prefix) => ask(`names of ${type}`)(prefix),
    objects: ask("objects"),
    namespaces: ask("namespaces"),
    contexts: ask("contexts"),
    functions: ask("functions"),
    composites: async (prefix) =>
      [{ value: "App/shop" }, { value: "Part/shop" }, { value: "Part/sink" }].filter(({ value }) =>
        value.startsWith(prefix),
      ),
    runs: ask("runs"),
    [Symbol.asyncDispose]: async () => void asked.push("closed"),
  };
}

async function offered(...words: readonly string[]): Promise<string[]> {
  const { action, candidates } = await complete(words, async (input) => namesOf(input, []));
  return [action, ...candidates.map(({ value }) => value)];
}

async function askedFor(...words: readonly string[]): Promise<string[]> {
  const asked: string[] = [];
  await complete(words, async (input) => namesOf(input, asked));
  return asked;
}

describe("commands", () => {
  test("are offered by their beginning, a group once", async () => {
    const first = new Set(commandTable.map(({ name }) => name.split(" ")[0]));
    const [, ...all] = await offered("");
    assert.deepEqual(new Set(all), first);
    assert.equal(all.length, first.size);
    assert.deepEqual(await offered(), ["none", ...all]);
    assert.deepEqual(await offered("run"), ["none", "runs"]);
  });

  test("of a group are offered after its name, with their summaries", async () => {
    const { candidates } = await complete(["operation", ""], async (input) => namesOf(input, []));
    const expected = commandTable
      .filter(({ name }) => name.startsWith("operation "))
      .map(({ name, summary }) => ({ value: name.split(" ")[1], description: summary }));
    assert.deepEqual(candidates, expected);
    assert.deepEqual(await offered("operation", "re"), ["none", "render"]);
  });

  test("that do not exist have nothing after them", async () => {
    assert.deepEqual(await offered("nonsense", ""), ["none"]);
    assert.deepEqual(await offered("operation", "nonsense", ""), ["none"]);
  });
});

describe("options", () => {
  test("are offered with two dashes; a short one only when it is whole", async () => {
    const [, ...found] = await offered("get", "-");
    assert.ok(found.length > 5 && found.every((word) => word.startsWith("--")), found.join());
    assert.deepEqual(await offered("get", "-n"), ["none", "-n"]);
    assert.deepEqual(await offered("get", "--hel"), ["none", "--help"]);
  });

  test("that were used are not offered again, unless they may be repeated", async () => {
    for (const before of [["-n", "a"], ["--namespace", "a"], ["--namespace=a"]]) {
      assert.deepEqual(await offered("get", ...before, "--namesp"), ["none"], before.join(" "));
    }
    const repeatable = commandTable.flatMap(({ name, options = [] }) =>
      options.filter((one) => one.repeatable === true && one.hidden !== true).map(({ flags }) => ({ name, flags })),
    );
    assert.ok(repeatable.length > 3);
    for (const { name, flags } of repeatable) {
      const long = /--[\w-]+/.exec(flags)?.[0] ?? "";
      const found = await offered(...name.split(" "), long, "x", long);
      assert.ok(found.includes(long), `${name} ${flags}: ${found.join()}`);
    }
  });

  test("that are hidden are not offered, but their values are", async () => {
    const hidden = commandTable.flatMap(({ name, options = [] }) =>
      options
        .filter((one) => one.hidden === true)
        .map(({ flags }) => ({ name, long: /--[\w-]+/.exec(flags)?.[0] ?? "" })),
    );
    assert.ok(hidden.length > 0);
    for (const { name, long } of hidden) {
      const found = await offered(...name.split(" "), long);
      assert.ok(!found.includes(long), `${name} ${long}`);
    }
  });

  test("values are those that the description lists, also after an equals sign", async () => {
    assert.deepEqual(await offered("get", "cm", "-o", "y"), ["none", "yaml"]);
    assert.deepEqual(await offered("get", "cm", "--output", "y"), ["none", "yaml"]);
    assert.deepEqual(await offered("get", "cm", "--output=y"), ["none", "--output=yaml"]);
    assert.deepEqual(await offered("get", "cm", "--nonsense="), ["none"]);
    assert.deepEqual(await offered("get", "cm", "--output=jsonp"), ["open", "--output=jsonpath="]);
  });

  test("of a value that is neither listed nor a file nor a name offer nothing", async () => {
    assert.deepEqual(await offered("get", "-l", ""), ["none"]);
  });

  test("with a value take the next word, also one that looks like an option", async () => {
    assert.deepEqual(await askedFor("get", "-n", "--odd", "cm", ""), ['names of cm(){"namespace":"--odd"}', "closed"]);
    assert.deepEqual(await askedFor("get", "-n=dev", "cm", ""), ['names of cm(){"namespace":"dev"}', "closed"]);
    assert.deepEqual(await askedFor("get", "--namespace=a=b", "cm", ""), [
      'names of cm(){"namespace":"a=b"}',
      "closed",
    ]);
  });
});

describe("names of a control plane", () => {
  const cases: Readonly<Record<string, readonly [words: readonly string[], asked: string]>> = {
    "types come first": [["get", "con"], "types(con){}"],
    "then names of the type": [["get", "cm", "sh"], "names of cm(sh){}"],
    "and more of them": [["get", "cm", "a", "b", "sh"], "names of cm(sh){}"],
    "a type with a slash is an object": [["get", "cm/sh"], "objects(cm/sh){}"],
    "a dash alone is an argument": [["get", "-", "x"], "names of -(x){}"],
    namespaces: [["get", "cm", "-n", "ku"], "namespaces(ku){}"],
    contexts: [["get", "--context", "p"], "contexts(p){}"],
    "an object of an option": [["events", "--for", "cm/"], "objects(cm/){}"],
    "functions of logs": [["logs", "fn"], "functions(fn){}"],
    "a run": [["runs", "show", "01"], "runs(01){}"],
    "one run and another": [["runs", "diff", "01", "02"], "runs(02){}"],
    "every run to export": [["runs", "export", "01", "02", "03"], "runs(03){}"],
    "chosen by other options": [
      ["get", "--kubeconfig", "k", "--data-dir=d", "cm", ""],
      'names of cm(){"kubeconfig":"k","dataDir":"d"}',
    ],
  };
  for (const [name, [words, asked]] of Object.entries(cases)) {
    test(name, async () => assert.deepEqual(await askedFor(...words), [asked, "closed"]));
  }

  test("more arguments than a command has offer nothing", async () => {
    assert.deepEqual(await askedFor("runs", "show", "01", ""), []);
    assert.deepEqual(await offered("completion", "zsh", ""), ["none"]);
  });

  test("the connection is closed when it fails", async () => {
    const asked: string[] = [];
    const failing = (input: CommandInput): LiveNames => ({
      ...namesOf(input, asked),
      types: async () => assert.fail("refused"),
    });
    await assert.rejects(
      complete(["get", ""], async (input) => failing(input)),
      { message: "refused" },
    );
    assert.deepEqual(asked, ["closed"]);
  });
});

describe("files", () => {
  test("are offered for arguments and options that are files, folders for folders", async () => {
    const files: readonly (readonly string[])[] = [
      ["render", ""],
      ["render", "xr.yaml", ""],
      ["render", "xr.yaml", "composition.yaml", ""],
      ["operation", "render", ""],
      ["operation", "run", ""],
      ["validate", "a.yaml", "b.yaml", ""],
      ["apply", "-f", ""],
    ];
    for (const words of files) assert.deepEqual(await offered(...words), ["files"], words.join(" "));
    for (const words of [
      ["up", "--data-dir", ""],
      ["init", ""],
    ]) {
      assert.deepEqual(await offered(...words), ["folders"], words.join(" "));
    }
  });
});

describe("values that a description lists", () => {
  const descriptions: Readonly<Record<string, readonly string[]>> = {
    "table, wide or json": ["table", "wide", "json"],
    "bash or zsh": ["bash", "zsh"],
    "what to show: plan, diff or json (plan)": ["plan", "diff", "json"],
    "json or jsonpath=TEMPLATE": ["json", "jsonpath="],
    "one-word or two-words; default one": ["one-word", "two-words"],
    "a file": [],
    "a file, or - for stdin": [],
    "": [],
  };
  for (const [description, values] of Object.entries(descriptions)) {
    test(JSON.stringify(description), () => assert.deepEqual(listedValues(description), values));
  }
});

describe("a command line of bash", () => {
  const lines: Readonly<Record<string, readonly string[]>> = {
    "": [""],
    a: ["a"],
    "a ": ["a", ""],
    "  a   b": ["a", "b"],
    "a\tb": ["a", "b"],
    "'a b'c": ["a bc"],
    "\"a b\" ''": ["a b", ""],
    "a 'b c": ["a", "b c"],
    "a\\ b": ["a b"],
    "a\\": ["a\\"],
    "'a\\ b'": ["a\\ b"],
    '"a\\"b"': ['a"b'],
    '"a\\\\b"': ["a\\b"],
    '"a\\b c"': ["a\\b c"],
    '"\\$HOME"': ["$HOME"],
    "x=1 'it'\\''s'": ["x=1", "it's"],
  };
  for (const [line, words] of Object.entries(lines)) {
    test(`is split as bash does: ${JSON.stringify(line)}`, () => assert.deepEqual(splitLine(line), words));
  }

  test("the part of the last word that readline keeps is not inserted again", () => {
    const rows: readonly (readonly [word: string, readline: string, cut: number])[] = [
      ["--output=j", "j", 9],
      ["--output=", "=", 9],
      ["--output=", "", 9],
      ["a:b", "b", 2],
      ["a:", ":", 2],
      ["a:b=c", "c", 4],
      ["plain", "plain", 0],
      ["plain", "in", 0],
      ["'a b", "b", 0],
      ["", "", 0],
    ];
    for (const [word, readline, cut] of rows) assert.equal(currentWord([word], readline), cut, `${word} ${readline}`);
    assert.equal(currentWord([], ""), 0);
  });
});

describe("the answer to a shell", () => {
  const answer = async (...args: readonly string[]): Promise<string> => {
    const io = new TestIo({});
    await printCompletion(args, io);
    assert.equal(io.stderr.text, "");
    return io.stdout.text;
  };

  test("is an action and a line for each candidate with its description", async () => {
    const lines = (await answer("--", "operation", "")).split("\n");
    assert.equal(lines[0], "none");
    assert.match(lines[1] ?? "", /^render\t\S.*$/);
    assert.equal(lines.at(-1), "");
  });

  test("of a line has what readline has not set apart", async () => {
    assert.equal(await answer("--line", "purlin get cm --output=y", "y"), "none\nyaml\n");
    assert.equal(await answer("--line", "purlin get cm -o y", "y"), "none\nyaml\n");
    assert.equal(await answer("--line", "purlin apply -f ", ""), "files\n");
    assert.equal(await answer("--line"), (await answer("--", "")) as string);
  });
});

test("composite resources are offered by name, each once, or by kind and name", async () => {
  assert.deepEqual(await offered("diff", "--xr", "sh"), ["none", "shop"]);
  assert.deepEqual(await offered("logs", "--xr", "Part/"), ["none", "Part/shop", "Part/sink"]);
});
