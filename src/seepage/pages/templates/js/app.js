// What htmx has no word for: uploads with their progress, and the text of the slider.

const drop = document.getElementById("drop");
const input = document.getElementById("file");
const status = document.getElementById("upload");

/** Send a file as the raw body of a PUT request, and go where the answer says. */
function send(file) {
  const request = new XMLHttpRequest();
  const address = `${drop.dataset.put}?name=${encodeURIComponent(file.name)}`;
  request.open("PUT", address);
  request.upload.addEventListener("progress", (event) => {
    if (event.lengthComputable) {
      const share = Math.floor((100 * event.loaded) / event.total);
      status.textContent = `Reading ${file.name}: ${share} %`;
    }
  });
  request.addEventListener("load", () => {
    if (request.status === 200) {
      window.location.assign(request.responseText.trim());
    } else {
      status.textContent = request.responseText.trim();
      status.classList.add("failed");
    }
  });
  request.addEventListener("error", () => {
    status.textContent = "The app has ended: start it again.";
    status.classList.add("failed");
  });
  status.textContent = `Reading ${file.name}`;
  status.classList.remove("failed");
  request.send(file);
}

if (drop) {
  input.addEventListener("change", () => {
    if (input.files.length > 0) {
      send(input.files[0]);
    }
  });
  drop.addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
  drop.addEventListener("dragleave", () => {
    drop.classList.remove("over");
  });
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    if (event.dataTransfer.files.length > 0) {
      send(event.dataTransfer.files[0]);
    }
  });
}

document.addEventListener("htmx:error", () => {
  document.getElementById("ended").hidden = false;
});

for (const range of document.querySelectorAll("input[data-stops]")) {
  const stops = range.dataset.stops.split(" ");
  const output = document.getElementById(range.dataset.output);
  const show = () => {
    const text = `${Number(stops[range.value])} times`;
    output.textContent = text;
    range.setAttribute("aria-valuetext", text);
  };
  range.addEventListener("input", show);
}

for (const button of document.querySelectorAll("button[data-copy]")) {
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.copy).textContent;
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  });
}
