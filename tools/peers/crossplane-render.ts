// SPDX-License-Identifier: Apache-2.0
// Crossplane's render command and the core that it starts for each render, built from their Go modules by name.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lockFolder } from "./lock-folder.ts";
import type { Command, Peer } from "./peer.ts";
import { sourceDigest } from "./source-digest.ts";

const core = "github.com/crossplane/crossplane/v2";
const apis = "github.com/crossplane/crossplane/apis/v2";
const cli = "github.com/crossplane/cli/v2";
const coreVersion = "2.4.0";
// Of the command line; its core is the newest release before it.
const version = "2.5.0";
const lock = lockFolder("crossplane-render", version);

/** The render commands (`operation` as the first word selects that of operations) with their core, and after `validate` that command. About four minutes cold on two cores; only recording needs it. */
export const crossplaneRender: Peer = {
  name: `crossplane-render-${sourceDigest(join(lock, "cli"))}`,
  version,
  needs: [
    {
      program: "go",
      args: ["version"],
      remedy: "install Go 1.26 or newer (https://go.dev/dl, or Debian: apt-get install golang-go)",
    },
  ],
  commands: (directory) => {
    const [coreModule, cliModule] = [join(directory, "core-module"), join(directory, "cli-module")];
    const programs = crossplaneRenderIn(directory);
    return [
      { program: "cp", args: ["-r", join(lock, "core"), coreModule] },
      { program: "cp", args: ["-r", join(lock, "cli"), cliModule] },
      buildCommand(coreModule, programs.core, `${core}/cmd/crossplane`),
      buildCommand(cliModule, programs.render, "."),
    ];
  },
  proof: (directory) => ({ program: "go", args: ["version", "-m", crossplaneRenderIn(directory).render] }),
};

/** The programs of an installed render command. */
export function crossplaneRenderIn(directory: string): { readonly core: string; readonly render: string } {
  return { core: join(directory, "crossplane-core"), render: join(directory, "crossplane-render") };
}

/** The folder of a package of the command line's own module, with its test data, once it is installed. */
export function crossplaneCommandFolder(directory: string, path: string): string {
  const list = ["list", "-mod=readonly", "-f", "{{.Dir}}", `${cli}/${path}`];
  return execFileSync("go", list, { cwd: join(directory, "cli-module"), encoding: "utf8" }).trim();
}

function buildCommand(directory: string, output: string, what: string): Command {
  const build = ["build", "-mod=readonly", "-p", "2", "-ldflags", "-s -w", "-o", output, what];
  return { program: "nice", args: ["-n", "10", "go", ...build], directory };
}

// The core's own go.mod points its apis at a folder that only its repository has.
const coreSources = {
  "go.mod": [
    "module purlin.dev/peers/crossplane-core",
    "go 1.26",
    `require ${core} v${coreVersion}`,
    `replace ${apis} => ${apis} v${coreVersion}`,
  ],
  "needed.go": ["//go:build needed", "", "package needed", `import _ "${core}/cmd/crossplane/core"`],
};

// The whole command line needs a container engine's and Helm's libraries. These are three subcommands alone; the parameters of
// Run that are internal types are not used where the functions are given.
const cliSources = {
  "go.mod": ["module purlin.dev/peers/crossplane-render", "go 1.26", `require ${cli} v${version}`],
  "main.go": [
    "package main",
    "import (",
    '  "os"',
    '  "reflect"',
    '  "github.com/alecthomas/kong"',
    `  "${cli}/cmd/crossplane/render/op"`,
    `  "${cli}/cmd/crossplane/render/xr"`,
    `  "${cli}/cmd/crossplane/validate"`,
    '  "github.com/crossplane/crossplane-runtime/v2/pkg/logging"',
    ")",
    "func main() {",
    "  var cmd any = &xr.Cmd{}",
    "  words := os.Args[1:]",
    '  if len(words) > 0 && words[0] == "operation" { cmd, words = &op.Cmd{}, words[1:] }',
    '  if len(words) > 0 && words[0] == "validate" { cmd, words = &validate.Cmd{}, words[1:] }',
    "  parser := kong.Must(cmd)",
    "  ctx, err := parser.Parse(words)",
    "  parser.FatalIfErrorf(err)",
    '  run := reflect.ValueOf(cmd).MethodByName("Run")',
    "  args := make([]reflect.Value, run.Type().NumIn())",
    "  for i := range args {",
    "    args[i] = reflect.Zero(run.Type().In(i))",
    "    for _, known := range []any{ctx, logging.NewNopLogger()} {",
    "      if reflect.TypeOf(known).AssignableTo(run.Type().In(i)) { args[i] = reflect.ValueOf(known) }",
    "    }",
    "  }",
    "  if failure, ok := run.Call(args)[0].Interface().(error); ok { parser.FatalIfErrorf(failure) }",
    "}",
  ],
};

function writeModule(directory: string, sources: Readonly<Record<string, readonly string[]>>): void {
  mkdirSync(directory, { recursive: true });
  for (const [name, lines] of Object.entries(sources)) writeFileSync(join(directory, name), `${lines.join("\n")}\n`);
}

// For a new version: `node tools/peers/crossplane-render.ts CORE-FOLDER CLI-FOLDER`, and `go mod tidy` in both folders of locks/.
if (import.meta.main) {
  const [coreModule = "", cliModule = ""] = process.argv.slice(2);
  writeModule(coreModule, coreSources);
  writeModule(cliModule, cliSources);
}
