// SPDX-License-Identifier: Apache-2.0
import type { Peer } from "./peer.ts";

/** A package of npm, in a folder of its own. */
export function npmPeer(name: string, version: string): Peer {
  return {
    name,
    version,
    needs: [{ program: "npm", args: ["--version"], remedy: "install npm, which comes with Node" }],
    commands: (directory) => [
      // With a manifest of its own npm neither looks for nor touches the repository's.
      { program: process.execPath, args: ["-e", `fs.writeFileSync("package.json", '{"private":true}')`], directory },
      {
        program: "npm",
        args: ["install", "--save-exact", "--no-audit", "--no-fund", "--loglevel=error", `${name}@${version}`],
        directory,
      },
    ],
    proof: (directory) => ({
      program: process.execPath,
      args: ["-p", `require("./node_modules/${name}/package.json").version`],
      directory,
    }),
  };
}
