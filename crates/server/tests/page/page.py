#!/usr/bin/env python3
"""Clicks through the web page of a running server in headless Chromium and takes screenshots.

    apt-get install chromium chromium-driver && pip install selenium
    burnformer serve --listen 127.0.0.1:5077 &
    python tests/page/page.py http://127.0.0.1:5077/ SCREENSHOTS

The server has to translate de-en and en-de. Exit code 0 if every check passed.
"""
import pathlib
import sys
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

url, out = sys.argv[1], pathlib.Path(sys.argv[2])
out.mkdir(parents=True, exist_ok=True)


def browser(width, height):
    options = webdriver.ChromeOptions()
    for flag in ["--headless=new", "--no-sandbox", "--disable-gpu", "--force-device-scale-factor=1"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options)
    # A window of headless Chromium is at least 500 pixels wide; the metrics of a device are not.
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.width, driver.metrics = width, metrics
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    return driver


def element(driver, name):
    return driver.find_element(By.ID, name)


def until(driver, condition, what):
    WebDriverWait(driver, 20).until(lambda _: condition(), what)
    print("ok:", what)


def contrast(driver, name):
    """The contrast ratio of an element's text and what is behind it (WCAG 2)."""
    script = """
      const parse = (c) => c.match(/[\\d.]+/g).map(Number);
      let e = arguments[0], back = [0, 0, 0, 0];
      const text = parse(getComputedStyle(e).color);
      for (; e && (back[3] ?? 1) === 0; e = e.parentElement) back = parse(getComputedStyle(e).backgroundColor);
      const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
        .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
      const [a, b] = [light(text), light(back)].sort((x, y) => y - x);
      return (a + 0.05) / (b + 0.05);"""
    return driver.execute_script(script, element(driver, name))


def check_page(driver):
    driver.get(url)
    until(driver, lambda: len(element(driver, "source").find_elements(By.TAG_NAME, "option")) == 3, "languages are listed")
    Select(element(driver, "source")).select_by_value("de")
    Select(element(driver, "target")).select_by_value("en")
    element(driver, "source-text").send_keys("Guten Morgen! Wie geht es Ihnen?\n\nIch wohne in einem alten Haus am Meer.")
    until(driver, lambda: len(driver.find_elements(By.CSS_SELECTOR, "#result .sentence")) == 3, "three sentences are translated as one types")
    until(driver, lambda: "\n\n" in element(driver, "result").get_property("textContent"), "line breaks are kept")
    assert "72 of" in element(driver, "counter").text, element(driver, "counter").text
    driver.find_elements(By.CSS_SELECTOR, "#result .sentence")[2].click()
    until(driver, lambda: element(driver, "aligned").is_displayed(), "a sentence opens")
    until(driver, lambda: len(driver.find_elements(By.CSS_SELECTOR, "#alternatives button")) >= 1, "other translations are offered")
    words = driver.find_elements(By.CSS_SELECTOR, "#aligned-target .word")
    webdriver.ActionChains(driver).move_to_element(words[0]).perform()
    until(driver, lambda: "linked" in words[0].get_attribute("class"), "a word is marked when one points at it")
    driver.save_screenshot(str(out / f"sentence-{driver.width}.png"))
    check_attention(driver)
    other = driver.find_elements(By.CSS_SELECTOR, "#alternatives button")[0]
    text = other.text
    driver.execute_script("arguments[0].click()", other)
    until(driver, lambda: driver.find_elements(By.CSS_SELECTOR, "#result .sentence")[2].text == text, "another translation can be chosen")
    element(driver, "swap").click()
    until(driver, lambda: Select(element(driver, "source")).first_selected_option.get_attribute("value") == "en", "languages are exchanged")
    Select(element(driver, "source")).select_by_value("auto")
    element(driver, "source-text").clear()
    element(driver, "source-text").send_keys("Der alte Mann wohnt am Meer und fischt jeden Tag.")
    Select(element(driver, "target")).select_by_value("en")
    until(driver, lambda: "German" in element(driver, "status").text, "the language is found out")


def check_attention(driver):
    first = driver.current_window_handle
    driver.find_element(By.CSS_SELECTOR, "#attention button").click()
    until(driver, lambda: len(driver.window_handles) == 2, "one click opens the attention")
    driver.switch_to.window(next(handle for handle in driver.window_handles if handle != first))
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", driver.metrics)
    until(driver, lambda: len(driver.find_elements(By.CSS_SELECTOR, "#map tbody tr")) >= 3, "the weights are shown")
    assert "Haus" in element(driver, "source").text
    wide = driver.execute_script("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert wide, "the attention is wider than the window"
    driver.save_screenshot(str(out / f"attention-{driver.width}.png"))
    errors = [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
    assert not errors, errors
    driver.close()
    driver.switch_to.window(first)


def check_file(driver):
    with tempfile.NamedTemporaryFile("w", suffix=".html", delete=False) as file:
        file.write("<p>Der <b>alte</b> Mann.</p>")
    Select(element(driver, "source")).select_by_value("de")
    element(driver, "file").send_keys(file.name)
    driver.find_element(By.CSS_SELECTOR, "#file-form button").click()
    until(driver, lambda: driver.find_elements(By.CSS_SELECTOR, "#file-status a"), "a document is translated")


def check_access(driver):
    unlabelled = driver.execute_script("""
      return [...document.querySelectorAll("input, select, textarea, button")].filter((e) => !e.hidden && !(
        e.textContent.trim() || e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") ||
        document.querySelector(`label[for="${e.id}"]`) || e.closest("section")?.getAttribute("aria-labelledby"))).map((e) => e.outerHTML)""")
    assert not unlabelled, unlabelled
    for theme in ["light", "dark"]:
        driver.execute_script("document.documentElement.dataset.theme = arguments[0]", theme)
        for name in ["counter", "source-text", "translate", "result", "source-title", "theme"]:
            ratio = contrast(driver, name)
            assert ratio >= 4.5, (theme, name, ratio)
        driver.execute_script("window.scrollTo(0, 0)")
        driver.save_screenshot(str(out / f"{theme}-{driver.width}.png"))
    wide = driver.execute_script("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert wide, "the page is wider than the window"
    print("ok: everything has a label and enough contrast, and fits the width")
    body = driver.find_element(By.TAG_NAME, "body")
    driver.execute_script("document.activeElement.blur()")
    seen = set()
    for _ in range(30):
        body.send_keys(Keys.TAB)
        seen.add(driver.execute_script("return document.activeElement.id"))
    missing = {"source", "target", "swap", "translate", "source-text", "result", "copy", "file", "theme"} - seen
    assert not missing, f"the Tab key does not reach {missing}"
    print("ok: the Tab key reaches everything")


def check_docs(driver):
    driver.get(url + "docs")
    until(driver, lambda: len(driver.find_elements(By.CSS_SELECTOR, "main section")) >= 10, "the interface is described")
    driver.save_screenshot(str(out / f"docs-{driver.width}.png"))


for size in [(1280, 900), (390, 844)]:
    driver = browser(*size)
    try:
        check_page(driver)
        check_file(driver)
        check_access(driver)
        check_docs(driver)
        errors = [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
        assert not errors, errors
    finally:
        time.sleep(0.2)
        driver.quit()
