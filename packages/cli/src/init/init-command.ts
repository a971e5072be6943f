// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import type { Io } from "../io.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { makeProject } from "../scaffold/make-project.ts";
import { writeProjectTypes } from "../types/project-types.ts";
import { readPlatformOptions } from "./platform-options.ts";

/** `purlin init [DIR]` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const { folder, ...values } = readPlatformOptions(input, io);
  await makeProject(
    {
      folder,
      layers: ["common", "platform"],
      values,
      addFiles: async (draft) => {
        await writeProjectTypes({ folder: join(draft, "types"), shown: "types", sources: [draft] }, io);
      },
      next: ["npm install", "npm test", "npx purlin up"],
    },
    io,
  );
}
