// SPDX-License-Identifier: Apache-2.0
// The files of a small Debian with Python, and the public SDKs beside it, as layers of packages.
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cacheDirectory } from "./cache-directory.ts";
import { lockFolder } from "./lock-folder.ts";
import { installed, type Peer } from "./peer.ts";
import { pipArguments, pythonOf, pythonSdk, typescriptSdk } from "./public-sdks.ts";

/**
 * A minute, and about 300 MB. Debian's own release is the one this machine gets its packages from. Install the two SDKs first: the Python one
 * installs itself for Debian's interpreter, of the TypeScript one the files are copied.
 */
export const debianRoot: Peer = {
  name: `debian-root-python-${pythonSdk.version}-typescript-${typescriptSdk.version}`,
  version: "1",
  needs: [
    {
      program: "debootstrap",
      args: ["--version"],
      remedy: "install debootstrap (Debian: apt-get install debootstrap)",
    },
    {
      program: "apt-get",
      args: ["indextargets"],
      remedy: "run this on Debian or a system made of it: the mirror is the one apt uses",
    },
    {
      program: "sh",
      args: ["-c", 'test "$(id -u)" = 0'],
      remedy:
        "debootstrap makes files of several owners and so needs root: sudo npm run peers -- debian-root, or run the rest",
    },
  ],
  commands: (directory) => [{ program: process.execPath, args: [import.meta.filename, directory] }],
  proof: (directory) => ({
    program: "chroot",
    args: [debianRootsIn(directory).base, "sh", "-c", "echo root 1; python3 --version"],
  }),
};

/** Folders that make up the roots of functions. */
export interface DebianRoots {
  /** Debian with Python, and the libraries Node is linked with. */
  readonly base: string;
  /** The Python SDK, in `/function`. */
  readonly python: string;
  /** Node as it is released, in `/usr/local/bin`, and the TypeScript SDK, in `/function/node_modules`. */
  readonly typescript: string;
}

/** The folders of an installed Debian root. */
export function debianRootsIn(directory: string): DebianRoots {
  const of = (name: string): string => join(directory, name);
  return { base: of("base"), python: of("python"), typescript: of("typescript") };
}

/** What is of no use to a function, and devices, which a sandbox brings itself. */
const spare = [
  "var/cache/apt",
  "var/lib/apt/lists",
  "usr/share/doc",
  "usr/share/man",
  "usr/share/info",
  "usr/share/locale",
];

function makeRoots(directory: string): void {
  const { base, python, typescript } = debianRootsIn(directory);
  const { mirror, suite } = aptSource();
  run("debootstrap", "--variant=minbase", "--include=python3,libstdc++6,libatomic1", suite, base, mirror);
  for (const path of spare) rmSync(join(base, path), { recursive: true, force: true });
  for (const name of readdirSync(join(base, "dev"))) rmSync(join(base, "dev", name), { recursive: true, force: true });
  const { version } = /^Python (?<version>\d+\.\d+)/.exec(run("chroot", base, "python3", "--version"))?.groups ?? {};
  const lock = lockFolder(pythonSdk.name, pythonSdk.version);
  const pip = pipArguments(lock, "--python-version", version ?? "", "--target", join(python, "function"));
  run(pythonOf(installed(pythonSdk, cacheDirectory)), ...pip);
  for (const folder of ["function", "usr/local/bin"]) mkdirSync(join(typescript, folder), { recursive: true });
  // Debian's own Node looks for parts of itself at fixed places, which without a sandbox are this machine's.
  copyFileSync(process.execPath, join(typescript, "usr/local/bin/node"));
  const modules = join(installed(typescriptSdk, cacheDirectory), "node_modules");
  cpSync(modules, join(typescript, "function", "node_modules"), { recursive: true, verbatimSymlinks: true });
}

/** Where apt gets the packages of this machine, without its updates. */
function aptSource(): { readonly mirror: string; readonly suite: string } {
  const lines = run(
    "apt-get",
    "indextargets",
    "--format",
    "$(REPO_URI) $(RELEASE) $(COMPONENT)",
    "Created-By: Packages",
  );
  for (const line of lines.split("\n")) {
    const [mirror = "", suite = "", component] = line.split(" ");
    if (component === "main" && /^[a-z]+$/.test(suite)) return { mirror, suite };
  }
  throw new Error("apt has no mirror of a Debian release: add one to its sources");
}

function run(program: string, ...args: readonly string[]): string {
  return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

if (process.argv[1] === import.meta.filename) makeRoots(process.argv[2] ?? "");
