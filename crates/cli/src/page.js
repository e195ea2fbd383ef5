(() => {
  const root = document.documentElement;
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  root.classList.toggle("dark", prefersDark.matches);
  document.getElementById("theme").addEventListener("click", () => root.classList.toggle("dark"));

  const search = document.getElementById("search");
  const count = document.getElementById("count");
  const rows = [...document.querySelectorAll("#rule-table tbody tr")];
  const texts = rows.map(row => row.textContent.toLowerCase());
  const find = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, at) => {
      const fits = words.every(word => texts[at].includes(word));
      row.hidden = !fits;
      shown += fits;
    });
    count.textContent = words.length ? `${shown} of ${rows.length}` : `${rows.length} rules`;
  };
  if (search) {
    search.addEventListener("input", find);
    find();
  }

  for (const bar of document.querySelectorAll("[data-filter=finding]")) {
    bar.addEventListener("change", () => {
      const wanted = new Set([...bar.querySelectorAll("input:checked")].map(box => box.value));
      for (const finding of document.querySelectorAll(".finding")) finding.hidden = !wanted.has(finding.dataset.level);
    });
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, at) => head.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = row => (row.cells[at] || row.cells[row.cells.length - 1]).textContent;
      const order = new Intl.Collator("en", { numeric: true });
      const sorted = [...table.tBodies[0].rows].sort((a, b) => order.compare(key(a), key(b)) * (down ? -1 : 1));
      table.tBodies[0].append(...sorted);
    }));
  }
})();
