// Kinds of files in words: a media type says little to a person.

const NAMES: Record<string, string> = {
  "text/markdown": "Document",
  "application/pdf": "PDF",
  "text/html": "Web page",
  "message/rfc822": "Mail",
  "text/plain": "Plain text",
  "text/csv": "Table",
  "application/json": "JSON",
  "application/epub+zip": "Book",
  "application/rtf": "Text",
  "application/msword": "Text",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "Text",
  "application/vnd.oasis.opendocument.text": "Text",
  "application/vnd.ms-excel": "Table",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "Table",
  "application/vnd.oasis.opendocument.spreadsheet": "Table",
  "application/vnd.ms-powerpoint": "Slides",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation": "Slides",
  "application/vnd.oasis.opendocument.presentation": "Slides",
};
const FAMILIES: Record<string, string> = { image: "Picture", audio: "Recording", video: "Video" };

/** The kind of a file, from its media type: what has no word is shown by the last part of it. */
export function kindOf(mediaType: string | null): string {
  const [type = ""] = (mediaType ?? "").split(";");
  const [family = "", subtype = ""] = type.trim().split("/");
  return NAMES[type.trim()] ?? FAMILIES[family] ?? subtype.replace(/^(x-|vnd\.)/, "");
}

const SOURCE_KINDS: Record<string, string> = { wiki: "Space", memory: "Memories", filesystem: "Folder", folder: "Folder", git: "Git repository", web: "Web site", s3: "S3 bucket", upload: "Uploads", connector: "Uploads" };

/** The kind of a source; one of a plugin has its own name. */
export function sourceKind(protocol: string): string {
  return SOURCE_KINDS[protocol] ?? protocol;
}
