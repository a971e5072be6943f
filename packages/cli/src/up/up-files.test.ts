// SPDX-License-Identifier: Apache-2.0
// The manifests of a whole control plane: saved, wrong and removed.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { claimsExample, edit, purlin, untilSettings, up } from "../../test/function-folder.ts";

test("a saved manifest is applied again; errors name file, line and field", async () => {
  using folder = claimsExample();
  await using running = up(folder, "claims");
  await running.next("stdout", /Everything is ready\./);
  edit(folder, "claim.yaml", (text) => text.replace("shop-v1", "shop-v2"));
  await running.next("stdout", /applied 1 object of claims\/claim\.yaml\n/);
  await untilSettings(folder, /shop:v2/);
  edit(folder, "claim.yaml", (text) => `${text}  size: medium\n`);
  await running.next("stdout", /error: claims\/claim\.yaml:9:3: spec\.size: Unsupported value: "medium"/);
  edit(folder, "claim.yaml", (text) => text.replace("size: medium", "siez: large"));
  await running.next("stdout", /error: claims\/claim\.yaml:9:3: \.spec\.siez: unknown field/);
  edit(folder, "claim.yaml", (text) => text.replace("siez: large", "  - : ["));
  await running.next("stdout", /error: claims\/claim\.yaml:\d+:\d+: invalid YAML: /);
});

test("an XRD that makes no kind, and mistakes in its schema, are reported where they are written", async () => {
  const xrd = (schema: string): string => `apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: things.e.org}
spec:
  group: e.org
  names: {kind: Thing, plural: things}
  versions:
  - name: v1
    served: true
    referenceable: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            ${schema}
`;
  const object = "apiVersion: e.org/v1\nkind: Thing\nmetadata: {name: a}\n";
  using folder = tempFolder({
    "good.yaml": xrd("properties: {size: {type: string}}"),
    "misspelled.yaml": xrd("propertes: {size: {type: string}}"),
    "broken.yaml": `${xrd("properties: {size: {type: strng}}")}---\n${object}`,
  });
  await using running = up(folder);
  await running.next("stdout", /The control plane is ready\./);
  const misspelled = await purlin(folder, "apply", "misspelled.yaml");
  assert.deepEqual([misspelled.exitCode, misspelled.stdout], [1, ""]);
  assert.match(
    misspelled.stderr,
    /^error: misspelled\.yaml:17:13: spec\.\S+\.propertes: unknown schema keyword: did you mean properties\?\n$/,
  );
  for (const _ of ["created", "unchanged"]) {
    const broken = await purlin(folder, "apply", "broken.yaml");
    assert.equal(broken.exitCode, 1);
    assert.match(
      broken.stderr,
      /^error: broken\.yaml:17:33: CompositeResourceDefinition things\.e\.org: .*Unsupported value: "strng"/m,
    );
    assert.match(
      broken.stderr,
      /^error: broken\.yaml:19:1: Thing a: CompositeResourceDefinition things\.e\.org does not offer it: /m,
    );
  }
  assert.equal(
    (await purlin(folder, "apply", "good.yaml")).stdout,
    "CompositeResourceDefinition things.e.org configured\n",
  );
  const updated = await purlin(folder, "apply", "broken.yaml");
  assert.equal(updated.exitCode, 1, "also where the kind is served as it was before");
});

test("what is removed from the files is named with the command that deletes it; --prune deletes it", async () => {
  const map = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;
  using folder = tempFolder({
    "m/a.yaml": `${map("one")}---\n${map("two")}`,
    "m/b.yaml": map("three"),
    "m/values.yaml": "replicas: 2\n",
  });
  {
    await using running = up(folder, "m");
    await running.next("stdout", /skipped m\/values\.yaml: not a Kubernetes manifest/);
    await running.next("stdout", /applied 3 objects of m\n/);
    folder.write("m/a.yaml", map("one"));
    await running.next("stdout", /applied 1 object of m\/a\.yaml\n/);
    const [, command = ""] = await running.next(
      "stdout",
      /ConfigMap default\/two is no longer in the files\. To delete it: (.*)\n/,
    );
    assert.match(command, /^(npx )?purlin delete configmap two$/);
    await purlin(folder, ...command.replace("npx ", "").split(" ").slice(1));
    assert.equal(await running.stop(), 0);
  }
  rmSync(join(folder.path, "m/b.yaml"));
  await using again = up(folder, "m", "--prune");
  await again.next("stdout", /deleted ConfigMap default\/three, which is no longer in the files/);
  const names = (await purlin(folder, "get", "configmaps", "-o", "name")).stdout;
  assert.deepEqual([names.includes("one"), names.includes("three")], [true, false]);
});

test("--prune keeps objects whose manifests leave the namespace to purlin.yaml", async () => {
  const map = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;
  using folder = tempFolder({
    "purlin.yaml": "namespace: team-a\n",
    "m/namespace.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: team-a}\n",
    "m/kept.yaml": map("kept"),
    "m/removed.yaml": map("removed"),
  });
  for (const count of [3, 2]) {
    await using running = up(folder, "m", "--prune");
    await running.next("stdout", new RegExp(`applied ${count} objects of m\n`));
    if (count === 2) await running.next("stdout", /deleted ConfigMap team-a\/removed, which/);
    await running.next("stdout", /The control plane is ready\.|Everything is ready\./);
    const { stdout } = await purlin(folder, "get", "configmaps", "-o", "name");
    assert.equal(stdout.includes("configmap/kept\n"), true, stdout);
    assert.equal(stdout.includes("configmap/removed\n"), count === 3);
    assert.equal(await running.stop(), 0);
    rmSync(join(folder.path, "m/removed.yaml"), { force: true });
  }
});

test("errors in the files are reported before anything is started", async () => {
  using folder = tempFolder({ "bad.yaml": "kind: ConfigMap\n", "open.yaml": "a: [\n", "empty/readme.txt": "" });
  const cases: Record<string, { readonly args: readonly string[]; readonly exitCode: number; readonly says: RegExp }> =
    {
      NoObject: {
        args: ["bad.yaml"],
        exitCode: 2,
        says: /^error: bad\.yaml:1:1: apiVersion: required field is missing/,
      },
      NoYaml: { args: ["open.yaml"], exitCode: 2, says: /^error: open\.yaml:\d+:\d+: / },
      NoSuchPath: { args: ["nope"], exitCode: 2, says: /^error: cannot read nope: no such file/ },
      NothingThere: { args: ["empty"], exitCode: 2, says: /^error: empty: no files ending in \.yaml or \.yml found/ },
      BadPort: { args: ["--port", "x"], exitCode: 2, says: /^error: --port x: expected a port from 0/ },
      BadTimeout: { args: ["--timeout", "soon"], exitCode: 2, says: /^error: --timeout: expected a duration/ },
    };
  for (const [name, { args, exitCode, says }] of Object.entries(cases)) {
    for (const command of args[0]?.startsWith("--") ? ["up"] : ["up", "dev"]) {
      const outcome = await purlin(folder, command, ...args);
      const seen = [name, command, outcome.exitCode, outcome.stdout];
      assert.deepEqual(seen, [name, command, exitCode, "Starting the control plane…\n"]);
      assert.match(outcome.stderr, says);
    }
  }
});

test("with --wait objects that are refused are wrong input", async () => {
  const map = (rest: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n${rest}`;
  const thing = "apiVersion: e.org/v1\nkind: Thing\nmetadata: {name: a}\n";
  using folder = tempFolder({
    "type.yaml": map("data: {a: 1}\n"),
    "kind.yaml": thing,
    "good.yaml": map("data: {a: b}\n"),
  });
  const outcomes: [string, number, string][] = [];
  for (const file of ["type.yaml", "kind.yaml", "good.yaml"]) {
    const { exitCode, stdout } = await purlin(folder, "up", file, "--wait", "--timeout", "20s");
    outcomes.push([file, exitCode, /error: (\S+)/.exec(stdout)?.[1] ?? ""]);
  }
  assert.deepEqual(outcomes, [
    ["type.yaml", 2, "type.yaml:4:8:"],
    ["kind.yaml", 2, "kind.yaml:1:1:"],
    ["good.yaml", 0, ""],
  ]);
});
