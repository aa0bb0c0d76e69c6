// What stands beside an entry of the rail: "2 failed", "1". A page that knows sets it.

const shown = $state<Record<string, string>>({});

export const counts = {
  of: (page: string): string => shown[page] ?? "",
  set: (page: string, text: string): void => {
    shown[page] = text;
  },
};
